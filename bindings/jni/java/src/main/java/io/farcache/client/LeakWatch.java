package io.farcache.client;

import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.logging.Logger;

/** Closes clients that the application has forgotten to close. */
final class LeakWatch {
    private static final Logger LOGGER = Logger.getLogger("io.farcache.client");
    private static final ReferenceQueue<FarcacheClient> FORGOTTEN = new ReferenceQueue<>();
    /** References must be reachable themselves to be queued. */
    private static final Set<Watched> WATCHED = ConcurrentHashMap.newKeySet();

    static {
        Thread thread = new Thread(LeakWatch::watch, "farcache-leak-watch");
        thread.setDaemon(true);
        thread.start();
    }

    private LeakWatch() {
    }

    /** One client, told apart from what it leaves behind. */
    static final class Watched extends PhantomReference<FarcacheClient> {
        private final Handles handles;

        Watched(FarcacheClient client, Handles handles) {
            super(client, FORGOTTEN);
            this.handles = handles;
        }

        /** The application has closed it. */
        void end() {
            WATCHED.remove(this);
            clear();
        }
    }

    static Watched watch(FarcacheClient client, Handles handles) {
        Watched watched = new Watched(client, handles);
        WATCHED.add(watched);
        return watched;
    }

    /** How many clients are open. */
    static int open() {
        return WATCHED.size();
    }

    private static void watch() {
        while (true) {
            try {
                Reference<? extends FarcacheClient> forgotten = FORGOTTEN.remove();
                Watched watched = (Watched) forgotten;
                if (!watched.handles.isClosed()) {
                    LOGGER.warning("a FarcacheClient was not closed before it was forgotten");
                    watched.handles.close();
                }
                WATCHED.remove(watched);
            } catch (InterruptedException e) {
                // Nobody has a reason to; go on.
            } catch (RuntimeException e) {
                LOGGER.warning("closing a forgotten FarcacheClient: " + e);
            }
        }
    }
}
