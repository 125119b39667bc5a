// One of the six clients of scripts/bench-cluster languages: Go, gomemcache, which takes the remainder of a checksum for the server.
// What all of them do is told in bench/README.md. gomemcache knows no discovery; its list of servers can be set at any time.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

const timeout = 5 * time.Second

type part struct {
	reads, hits, updates, wrong, stale, failed int
	latencies                                  []time.Duration
}

// What is known of a key: the version given to it last, and the last one whose write was acknowledged.
type versions struct{ given, acknowledged int }

type reader struct {
	name       string
	valueBytes int
	keys       []versions
	client     *memcache.Client
	servers    *memcache.ServerList
	told       chan []string
	adopted    string
}

// Asks the endpoint for the servers: the reply's third line has "host|ip|port" for each, with blanks between.
func discover(endpoint string) ([]string, error) {
	connection, err := net.DialTimeout("tcp", endpoint, timeout)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	connection.SetDeadline(time.Now().Add(timeout))
	fmt.Fprint(connection, "config get cluster\r\n")
	lines := bufio.NewScanner(connection)
	for at := 0; lines.Scan(); at++ {
		if at != 2 {
			continue
		}
		var servers []string
		for _, node := range strings.Split(lines.Text(), " ") {
			words := strings.Split(node, "|")
			servers = append(servers, words[0]+":"+words[2])
		}
		return servers, nil
	}
	return nil, errors.New("no servers were told")
}

func (r *reader) keepAsking(endpoint string, every time.Duration) {
	for {
		time.Sleep(every)
		servers, err := discover(endpoint)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: discovery: %v\n", r.name, err)
			continue
		}
		r.told <- servers
	}
}

// Goes by the servers that were told last.
func (r *reader) adoptServers() {
	select {
	case servers := <-r.told:
		if joined := strings.Join(servers, ","); joined != r.adopted {
			r.adopted = joined
			check(r.servers.SetServers(servers...))
			fmt.Printf("servers %d\n", len(servers))
		}
	default:
	}
}

func (r *reader) key(number int) string { return fmt.Sprintf("%s:%d", r.name, number) }

// Stores the key's next version; whether that was acknowledged.
func (r *reader) store(number int) bool {
	known := &r.keys[number]
	known.given++
	value := fmt.Sprintf("%s %d ", r.key(number), known.given)
	value += strings.Repeat(".", r.valueBytes-len(value))
	if err := r.client.Set(&memcache.Item{Key: r.key(number), Value: []byte(value)}); err != nil {
		fmt.Fprintf(os.Stderr, "%s: set: %v\n", r.name, err)
		return false
	}
	known.acknowledged = known.given
	return true
}

func (r *reader) read(into *part, number int, from time.Time) {
	into.reads++
	item, err := r.client.Get(r.key(number))
	if err != nil && err != memcache.ErrCacheMiss {
		fmt.Fprintf(os.Stderr, "%s: get: %v\n", r.name, err)
		into.failed++
		return
	}
	into.latencies = append(into.latencies, time.Since(from))
	if err == nil {
		into.hits++
		r.judge(into, number, string(item.Value))
	} else if !r.store(number) {
		into.failed++
	}
}

// Counts a value that nobody has stored under this key, and one that is older than what was acknowledged.
func (r *reader) judge(into *part, number int, value string) {
	words := strings.Split(value, " ")
	if len(value) != r.valueBytes || len(words) != 3 || words[0] != r.key(number) || strings.Trim(words[2], ".") != "" {
		into.wrong++
		return
	}
	version, err := strconv.Atoi(words[1])
	if err != nil || version > r.keys[number].given {
		into.wrong++
	} else if version < r.keys[number].acknowledged {
		into.stale++
	}
}

func (r *reader) run(operations []string, rate, partMs int) []part {
	var parts []part
	start := time.Now()
	for index, operation := range operations {
		kind, text, _ := strings.Cut(operation, " ")
		number := parse(text)
		from := start.Add(time.Duration(index) * time.Second / time.Duration(rate))
		if wait := time.Until(from); wait > 0 {
			time.Sleep(wait)
			// Who had time to sleep is not charged with a timer that was late.
			from = time.Now()
		}
		at := index * 1000 / rate / partMs
		if at == len(parts) {
			parts = append(parts, part{})
		}
		r.adoptServers()
		if kind == "r" {
			r.read(&parts[at], number, from)
			continue
		}
		parts[at].updates++
		if !r.store(number) {
			parts[at].failed++
		}
	}
	return parts
}

func (p *part) tell(to *bufio.Writer) {
	fmt.Fprintf(to, "part %d %d %d %d %d %d", p.reads, p.hits, p.updates, p.wrong, p.stale, p.failed)
	for _, latency := range p.latencies {
		fmt.Fprintf(to, " %d", latency.Microseconds())
	}
	fmt.Fprintln(to)
}

func parse(text string) int {
	number, err := strconv.Atoi(text)
	check(err)
	return number
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	name, endpoint, path := os.Args[1], os.Args[2], os.Args[3]
	keys, valueBytes, rate, partMs, pollMs := parse(os.Args[4]), parse(os.Args[5]), parse(os.Args[6]), parse(os.Args[7]), parse(os.Args[8])
	text, err := os.ReadFile(path)
	check(err)
	servers := new(memcache.ServerList)
	client := memcache.NewFromSelector(servers)
	client.Timeout = timeout
	r := &reader{name: name, valueBytes: valueBytes, keys: make([]versions, keys), client: client, servers: servers, told: make(chan []string, 1)}
	told, err := discover(endpoint)
	check(err)
	r.told <- told
	r.adoptServers()
	for number := range r.keys {
		if !r.store(number) {
			check(errors.New("not all keys could be stored"))
		}
	}
	go r.keepAsking(endpoint, time.Duration(pollMs)*time.Millisecond)
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err == nil {
		to := bufio.NewWriter(os.Stdout)
		for _, one := range r.run(strings.Split(strings.TrimSpace(string(text)), "\n"), rate, partMs) {
			one.tell(to)
		}
		fmt.Fprintln(to, "end")
		check(to.Flush())
	}
}
