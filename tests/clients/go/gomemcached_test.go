package clients

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/couchbase/gomemcached"
	memcached "github.com/couchbase/gomemcached/client"
)

// binaryClient speaks the binary protocol.
func binaryClient(t *testing.T) *memcached.Client {
	connection, err := dial(t)
	must(t, err)
	client, err := memcached.Wrap(connection)
	must(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

func mustStatus(t *testing.T, response *gomemcached.MCResponse, err error, wanted gomemcached.Status) {
	t.Helper()
	if response == nil {
		t.Fatalf("no response: %v", err)
	}
	if response.Status != wanted {
		t.Fatalf("wanted %v, got %v (%s)", wanted, response.Status, response.Body)
	}
}

func TestBinarySetAndGet(t *testing.T) {
	client, key := binaryClient(t), newKey()
	response, err := client.Get(0, key)
	mustStatus(t, response, err, gomemcached.KEY_ENOENT)
	for _, length := range []int{0, 1, 4096, 65536, 1000000} {
		value := bytes.Repeat([]byte{0x80, 0, '\r', '\n'}, length/4+1)[:length]
		response, err = client.Set(0, key, 0xCAFE, 0, value)
		mustStatus(t, response, err, gomemcached.SUCCESS)
		response, err = client.Get(0, key)
		mustStatus(t, response, err, gomemcached.SUCCESS)
		if !bytes.Equal(response.Body, value) || !bytes.Equal(response.Extras, []byte{0, 0, 0xCA, 0xFE}) {
			t.Fatalf("%d bytes did not come back whole", length)
		}
	}
}

func TestBinaryAddAppendDelete(t *testing.T) {
	client, key := binaryClient(t), newKey()
	response, err := client.Add(0, key, 0, 0, []byte("a"))
	mustStatus(t, response, err, gomemcached.SUCCESS)
	response, err = client.Add(0, key, 0, 0, []byte("b"))
	mustStatus(t, response, err, gomemcached.KEY_EEXISTS)
	response, err = client.Append(0, key, []byte("b"))
	mustStatus(t, response, err, gomemcached.SUCCESS)
	response, err = client.Get(0, key)
	mustStatus(t, response, err, gomemcached.SUCCESS)
	if string(response.Body) != "ab" {
		t.Fatalf("holds %q", response.Body)
	}
	response, err = client.Del(0, key)
	mustStatus(t, response, err, gomemcached.SUCCESS)
	response, err = client.Del(0, key)
	mustStatus(t, response, err, gomemcached.KEY_ENOENT)
}

func TestBinaryCompareAndSwap(t *testing.T) {
	client, key := binaryClient(t), newKey()
	response, err := client.Set(0, key, 0, 0, []byte("1"))
	mustStatus(t, response, err, gomemcached.SUCCESS)
	token := response.Cas
	response, err = client.SetCas(0, key, 0, 0, token, []byte("2"))
	mustStatus(t, response, err, gomemcached.SUCCESS)
	response, err = client.SetCas(0, key, 0, 0, token, []byte("3"))
	mustStatus(t, response, err, gomemcached.KEY_EEXISTS)
}

func TestBinaryArithmetic(t *testing.T) {
	client, key := binaryClient(t), newKey()
	for _, wanted := range []uint64{40, 45, 50} {
		got, err := client.Incr(0, key, 5, 40, 0)
		must(t, err)
		if got != wanted {
			t.Fatalf("wanted %d, got %d", wanted, got)
		}
	}
	got, err := client.Decr(0, key, 100, 0, 0)
	must(t, err)
	if got != 0 {
		t.Fatalf("wanted 0, got %d", got)
	}
}

func TestBinaryGetAndTouch(t *testing.T) {
	client, key := binaryClient(t), newKey()
	response, err := client.Set(0, key, 7, 0, []byte("x"))
	mustStatus(t, response, err, gomemcached.SUCCESS)
	response, err = client.GetAndTouch(0, key, 100)
	mustStatus(t, response, err, gomemcached.SUCCESS)
	if string(response.Body) != "x" || response.Extras[3] != 7 {
		t.Fatalf("returned %q, flags %v", response.Body, response.Extras)
	}
}

func TestBinaryQuietGets(t *testing.T) {
	client, key := binaryClient(t), newKey()
	var names []string
	for number := 0; number < 200; number++ {
		name := fmt.Sprintf("%s-%d", key, number)
		names = append(names, name)
		if number%2 == 0 {
			response, err := client.Set(0, name, 0, 0, []byte(name))
			mustStatus(t, response, err, gomemcached.SUCCESS)
		}
	}
	found := map[string]*gomemcached.MCResponse{}
	must(t, client.GetBulk(0, names, found, nil))
	if len(found) != len(names)/2 {
		t.Fatalf("%d keys found", len(found))
	}
	for name, response := range found {
		if string(response.Body) != name {
			t.Fatalf("%s holds %s", name, response.Body)
		}
	}
}

func TestBinaryStats(t *testing.T) {
	stats, err := binaryClient(t).StatsMap("")
	must(t, err)
	if stats["pid"] == "" || stats["curr_items"] == "" {
		t.Fatalf("stats lack the usual names: %v", stats)
	}
}

// The one test for a server that asks for a password; the others do not run against it.
func TestSaslPlain(t *testing.T) {
	if os.Getenv("SERVER_PASSWORD") == "" {
		t.Skip("this server asks for no password")
	}
	stranger, key := binaryClient(t), newKey()
	response, err := stranger.Set(0, key, 0, 0, []byte("x"))
	mustStatus(t, response, err, gomemcached.AUTH_ERROR)
	client := binaryClient(t)
	response, err = client.AuthPlain(os.Getenv("SERVER_USER"), os.Getenv("SERVER_PASSWORD"))
	mustStatus(t, response, err, gomemcached.SUCCESS)
	response, err = client.Set(0, key, 0, 0, []byte("x"))
	mustStatus(t, response, err, gomemcached.SUCCESS)
}
