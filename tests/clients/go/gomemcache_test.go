package clients

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

// textClient speaks the text protocol.
func textClient(t *testing.T) *memcache.Client {
	client := memcache.New(serverAddress(t))
	client.Timeout = 10 * time.Second
	client.DialContext = func(context.Context, string, string) (net.Conn, error) { return dial(t) }
	t.Cleanup(func() { client.Close() })
	return client
}

func mustHold(t *testing.T, client *memcache.Client, key string, value []byte) *memcache.Item {
	t.Helper()
	item, err := client.Get(key)
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	if !bytes.Equal(item.Value, value) {
		t.Fatalf("get %s: %d bytes that differ from the %d set", key, len(item.Value), len(value))
	}
	return item
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustFail(t *testing.T, err, wanted error) {
	t.Helper()
	if !errors.Is(err, wanted) {
		t.Fatalf("wanted %v, got %v", wanted, err)
	}
}

func TestTextSetAndGet(t *testing.T) {
	client, key := textClient(t), newKey()
	_, err := client.Get(key)
	mustFail(t, err, memcache.ErrCacheMiss)
	for _, length := range []int{0, 1, 4096, 65536, 1000000} {
		value := bytes.Repeat([]byte{'v', 0, '\r', '\n'}, length/4+1)[:length]
		must(t, client.Set(&memcache.Item{Key: key, Value: value, Flags: 0xCAFE}))
		if item := mustHold(t, client, key, value); item.Flags != 0xCAFE {
			t.Fatalf("flags came back as %x", item.Flags)
		}
	}
	must(t, client.Ping())
}

func TestTextModes(t *testing.T) {
	client, key := textClient(t), newKey()
	item := func(value string) *memcache.Item { return &memcache.Item{Key: key, Value: []byte(value)} }
	mustFail(t, client.Replace(item("0")), memcache.ErrNotStored)
	mustFail(t, client.Append(item("0")), memcache.ErrNotStored)
	must(t, client.Add(item("b")))
	mustFail(t, client.Add(item("2")), memcache.ErrNotStored)
	must(t, client.Append(item("c")))
	must(t, client.Prepend(item("a")))
	mustHold(t, client, key, []byte("abc"))
	must(t, client.Replace(item("3")))
	mustHold(t, client, key, []byte("3"))
}

func TestTextCompareAndSwap(t *testing.T) {
	client, key := textClient(t), newKey()
	must(t, client.Set(&memcache.Item{Key: key, Value: []byte("1")}))
	first, second := mustHold(t, client, key, []byte("1")), mustHold(t, client, key, []byte("1"))
	first.Value = []byte("2")
	must(t, client.CompareAndSwap(first))
	mustFail(t, client.CompareAndSwap(second), memcache.ErrCASConflict)
	must(t, client.Delete(key))
	mustFail(t, client.CompareAndSwap(second), memcache.ErrCacheMiss)
}

func TestTextArithmetic(t *testing.T) {
	client, key := textClient(t), newKey()
	_, err := client.Increment(key, 1)
	mustFail(t, err, memcache.ErrCacheMiss)
	must(t, client.Set(&memcache.Item{Key: key, Value: []byte("35")}))
	for _, step := range []struct{ up, down, wanted uint64 }{{7, 0, 42}, {0, 2, 40}, {0, 100, 0}} {
		_, err := client.Increment(key, step.up)
		must(t, err)
		got, err := client.Decrement(key, step.down)
		must(t, err)
		if got != step.wanted {
			t.Fatalf("wanted %d, got %d", step.wanted, got)
		}
	}
	must(t, client.Set(&memcache.Item{Key: key, Value: []byte("num")}))
	if _, err := client.Increment(key, 1); err == nil {
		t.Fatal("a word was incremented")
	}
}

func TestTextTouchAndExpiry(t *testing.T) {
	client, key := textClient(t), newKey()
	mustFail(t, client.Touch(key, 10), memcache.ErrCacheMiss)
	must(t, client.Set(&memcache.Item{Key: key, Value: []byte("x"), Expiration: 100}))
	must(t, client.Touch(key, 1))
	item, err := client.GetAndTouch(key, 1)
	must(t, err)
	if string(item.Value) != "x" {
		t.Fatalf("get-and-touch returned %q", item.Value)
	}
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := client.Get(key); errors.Is(err, memcache.ErrCacheMiss) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("an item of one second still lives after five")
		}
	}
}

func TestTextManyKeys(t *testing.T) {
	client, key := textClient(t), newKey()
	var names []string
	for number := 0; number < 300; number++ {
		name := fmt.Sprintf("%s-%d", key, number)
		names = append(names, name)
		must(t, client.Set(&memcache.Item{Key: name, Value: []byte(name)}))
	}
	found, err := client.GetMulti(append(names, "absent"))
	must(t, err)
	if len(found) != len(names) {
		t.Fatalf("%d of %d keys found", len(found), len(names))
	}
	for name, item := range found {
		if string(item.Value) != name {
			t.Fatalf("%s holds %s", name, item.Value)
		}
	}
}

func TestTextManyClients(t *testing.T) {
	client, key := textClient(t), newKey()
	client.MaxIdleConns = 16
	must(t, client.Set(&memcache.Item{Key: key, Value: []byte("0")}))
	var all sync.WaitGroup
	for worker := 0; worker < 16; worker++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for turn := 0; turn < 100; turn++ {
				if _, err := client.Increment(key, 1); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	all.Wait()
	mustHold(t, client, key, []byte("1600"))
}

func TestTextDeleteAndFlush(t *testing.T) {
	client, key := textClient(t), newKey()
	mustFail(t, client.Delete(key), memcache.ErrCacheMiss)
	must(t, client.Set(&memcache.Item{Key: key, Value: []byte("x")}))
	must(t, client.Delete(key))
	must(t, client.Set(&memcache.Item{Key: key, Value: []byte("x")}))
	must(t, client.FlushAll())
	_, err := client.Get(key)
	mustFail(t, err, memcache.ErrCacheMiss)
}
