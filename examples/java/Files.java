import io.farcache.client.BlobReader;
import io.farcache.client.BlobWriter;
import io.farcache.client.FarcacheBlobs;
import io.farcache.client.FarcacheClient;

/** A file of 2 MB, written front to back and read in the middle. */
final class Files {
    private Files() {
    }

    public static void main(String[] arguments) {
        String servers = arguments.length > 0 ? arguments[0] : "127.0.0.1:11211";
        byte[] array = new byte[2_000_000];
        array[1_000_000] = 42;
        try (FarcacheClient client = FarcacheClient.builder(servers).build()) {
            try (FarcacheBlobs blobs = client.blobs(0, 0, 0)) {           // chunks and windows as usual
                try (BlobWriter writer = blobs.create("logs/today")) {
                    writer.write(array, 0, array.length);
                }                                                         // now it is there
                try (BlobReader reader = blobs.open("logs/today")) {      // null where it is absent
                    int read = reader.read(1_000_000, array, 0, array.length);
                    System.out.println(read + " bytes, the first is " + array[0]);
                }
            }
        }
    }
}
