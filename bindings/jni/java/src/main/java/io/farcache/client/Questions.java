package io.farcache.client;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** What one server is asked or told. */
final class Questions {
    private Questions() {
    }

    private abstract static class Ask<T> extends Operation<T> {
        private final int kind;
        private final int server;
        private final String group;
        private final int delaySeconds;

        Ask(int kind, int server, String group, int delaySeconds) {
            if (server < 0) {
                throw new FarcacheArgumentException(Status.INVALID_ARGUMENTS,
                        "servers are counted from 0");
            }
            this.kind = kind;
            this.server = server;
            this.group = group;
            this.delaySeconds = delaySeconds;
        }

        @Override
        Object carryOut(long client, Pending<?> pending, long[] outcome) {
            return Native.ask(client, pending, kind, server, group, delaySeconds, outcome);
        }
    }

    static Operation<String> version(int server) {
        return new Ask<String>(Native.VERSION, server, null, 0) {
            @Override
            String result(Ended ended) {
                ended.isDone();
                return ((Object[]) ended.value)[0].toString();
            }
        };
    }

    static Operation<Void> noop(int server) {
        return told(Native.NOOP, server, 0);
    }

    static Operation<Void> flush(int server, int delaySeconds) {
        return told(Native.FLUSH, server, delaySeconds);
    }

    private static Operation<Void> told(int kind, int server, int delaySeconds) {
        return new Ask<Void>(kind, server, null, delaySeconds) {
            @Override
            Void result(Ended ended) {
                return ended.done();
            }
        };
    }

    static Operation<Map<String, String>> statistics(int server, String group) {
        return new Ask<Map<String, String>>(Native.STATISTICS, server, group, 0) {
            @Override
            Map<String, String> result(Ended ended) {
                ended.isDone();
                Object[] texts = (Object[]) ended.value;
                Map<String, String> statistics = new LinkedHashMap<>(texts.length);
                for (int index = 0; index + 1 < texts.length; index += 2) {
                    statistics.put((String) texts[index], (String) texts[index + 1]);
                }
                return Collections.unmodifiableMap(statistics);
            }
        };
    }
}
