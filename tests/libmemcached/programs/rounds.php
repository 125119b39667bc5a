<?php
// Reads and writes values by PHP's memcached extension, round after round, while servers die:
// php rounds.php HOST:PORT...
//
// It says "round N" after each round, and ends when standard input does. Every read must bring the
// last value that was written: what does not is said, and the last line is how many reads there
// were, and how many of them were wrong or failed.

const KEYS = 12;
const TRIES_MAX = 10;
const PATIENCE_MS = 60000;
const LENGTHS = [1, 900, 32000, 33000, 120000, 300001];

function value_of(int $number, int $generation): string {
    $length = LENGTHS[$number % count(LENGTHS)];
    return str_pad("$generation;", $length, "$number of generation $generation;") . $generation;
}

$reads = $wrong = 0;

function check(Memcached $m, string $what, int $number, int $generation, mixed $found): void {
    global $reads, $wrong;
    $reads++;
    if ($found !== value_of($number, $generation)) {
        $wrong++;
        $found = $found === false ? $m->getResultMessage() : substr($found, -40);
        echo "$what of $number is wrong: $found\n";
    }
}

// A server that dies in the middle of a write may leave it unknown whether that took effect: it is
// written again.
function set(Memcached $m, int $number, int $generation): void {
    $tries = 0;
    while ($tries < TRIES_MAX && !$m->set("key-$number", value_of($number, $generation))) {
        $tries++;
    }
    if ($tries === TRIES_MAX) {
        echo "set of $number: ", $m->getResultMessage(), "\n";
    }
}

$m = new Memcached();
$m->setOptions([Memcached::OPT_COMPRESSION => false, Memcached::OPT_POLL_TIMEOUT => PATIENCE_MS,
                Memcached::OPT_CONNECT_TIMEOUT => PATIENCE_MS]);
$m->addServers(array_map(fn ($address) => explode(':', $address), array_slice($argv, 1)));
for ($number = 0; $number < KEYS; $number++) {
    set($m, $number, 0);
}
stream_set_blocking(STDIN, false);
for ($generation = 1; !feof(STDIN); $generation++) {
    for ($number = 0; $number < KEYS; $number++) {
        check($m, 'get', $number, $generation - 1, $m->get("key-$number"));
        set($m, $number, $generation);
        check($m, 'get after set', $number, $generation, $m->get("key-$number"));
    }
    $all = $m->getMulti(array_map(fn ($number) => "key-$number", range(0, KEYS - 1)));
    for ($number = 0; $number < KEYS; $number++) {
        check($m, 'getMulti', $number, $generation, $all["key-$number"] ?? false);
    }
    echo "round $generation\n";
    fgets(STDIN);
}
echo "$reads reads, $wrong wrong\n";
