/* Prints the shards of tests/golden/shards.txt, computed by ISA-L:
 *   cc make.c -lisal -o make && ./make > shards.txt
 * The committed file was made with ISA-L 2.31.1, built from Debian trixie's source package libisal.
 */
#include <isa-l/erasure_code.h>
#include <stdint.h>
#include <stdio.h>

enum { SHARDS_MAX = 32, BYTES_MAX = 400 };

static uint8_t shards[SHARDS_MAX][BYTES_MAX];

static void print_shards(int k, int m, int bytes)
{
	uint8_t matrix[SHARDS_MAX * SHARDS_MAX], tables[32 * SHARDS_MAX * SHARDS_MAX];
	uint8_t *pointers[SHARDS_MAX];
	uint32_t state = 1;

	for (int shard = 0; shard < k; shard++)
		for (int place = 0; place < bytes; place++) {
			state = state * 1103515245 + 12345;
			shards[shard][place] = state >> 16;
		}
	for (int shard = 0; shard < SHARDS_MAX; shard++)
		pointers[shard] = shards[shard];
	/* The first parity row of the other matrix is the XOR of the data shards. */
	(m == 1 ? gf_gen_rs_matrix : gf_gen_cauchy1_matrix)(matrix, k + m, k);
	ec_init_tables(k, m, matrix + k * k, tables);
	ec_encode_data(bytes, k, m, tables, pointers, pointers + k);

	printf("%d %d %d", k, m, bytes);
	for (int shard = k; shard < k + m; shard++) {
		putchar(' ');
		for (int place = 0; place < bytes; place++)
			printf("%02x", shards[shard][place]);
	}
	putchar('\n');
}

int main(void)
{
	static const int schemes[][2] = {
		{1, 1}, {1, 2}, {2, 1}, {2, 2}, {3, 2}, {4, 3}, {6, 3}, {10, 4}, {12, 4}, {5, 6}, {20, 12}, {31, 1},
	};

	for (unsigned scheme = 0; scheme < sizeof schemes / sizeof *schemes; scheme++)
		print_shards(schemes[scheme][0], schemes[scheme][1], 67);
	print_shards(3, 2, 300);
	return 0;
}
