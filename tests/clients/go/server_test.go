// Package clients tests a running server with clients written in Go. SERVER_ADDRESS says where it
// is (a path is a unix socket), SERVER_CERTIFICATE by which certificate its TLS is known.
package clients

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
)

var keys atomic.Int64

// newKey returns a key that no other test uses.
func newKey() string {
	return fmt.Sprintf("go-%d-%d", os.Getpid(), keys.Add(1))
}

func serverAddress(t testing.TB) string {
	address := os.Getenv("SERVER_ADDRESS")
	if address == "" {
		t.Fatal("SERVER_ADDRESS does not say where the server is")
	}
	return address
}

// dial connects to the server, with TLS where it has a certificate.
func dial(t testing.TB) (net.Conn, error) {
	network, address := "tcp", serverAddress(t)
	if strings.HasPrefix(address, "/") {
		network = "unix"
	}
	certificate := os.Getenv("SERVER_CERTIFICATE")
	if certificate == "" {
		return net.Dial(network, address)
	}
	pem, err := os.ReadFile(certificate)
	if err != nil {
		return nil, err
	}
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(pem)
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: authorities, ServerName: "localhost"}}
	return dialer.DialContext(context.Background(), network, address)
}
