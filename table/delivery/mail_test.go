package delivery_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/big"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/table/delivery"
)

// postOffice is a mail server that records one connection.
type postOffice struct {
	t        *testing.T
	identity tls.Certificate
	offers   []string // extensions, in addition to STARTTLS
	starttls bool
	implicit bool // TLS from the start
	refuses  string

	heard  []string // commands; unencrypted ones have the prefix "clear "
	logins []string // user and password of each successful login
	letter string
}

// vouched creates a certificate for a name or an address, signed by its own authority.
func vouched(t *testing.T, name string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if ip := net.ParseIP(name); ip != nil {
		c.IPAddresses = []net.IP{ip}
	} else {
		c.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(c)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

// open listens for one client. done returns when the client has left.
func (p *postOffice) open() (addr string, done func()) {
	p.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		p.t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if p.implicit {
			conn = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{p.identity}})
		}
		fmt.Fprint(conn, "220 hello\r\n")
		p.serve(conn)
	}()
	return l.Addr().String(), func() { l.Close(); <-gone }
}

// serve answers until the client leaves.
func (p *postOffice) serve(conn net.Conn) {
	_, encrypted := conn.(*tls.Conn)
	in := bufio.NewReader(conn)
	ask := func(question string) string {
		fmt.Fprintf(conn, "%s\r\n", question)
		line, _ := in.ReadString('\n') // empty at the end
		return strings.TrimRight(line, "\r\n")
	}
	for said := ""; ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		said = strings.TrimRight(line, "\r\n")
		p.heard = append(p.heard, map[bool]string{true: "", false: "clear "}[encrypted]+said)
		verb, _, _ := strings.Cut(said, " ")
		switch {
		case p.refuses != "" && strings.HasPrefix(said, p.refuses):
			fmt.Fprint(conn, "550 5.7.1 not here\r\n")
		case verb == "EHLO":
			offers := append([]string{"office"}, p.offers...) // the first is its name
			if p.starttls && !encrypted {
				offers = append(offers, "STARTTLS")
			}
			for _, one := range offers {
				fmt.Fprintf(conn, "250-%s\r\n", one)
			}
			fmt.Fprint(conn, "250 8BITMIME\r\n")
		case verb == "STARTTLS":
			fmt.Fprint(conn, "220 go on\r\n")
			p.serve(tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{p.identity}}))
			return
		case verb == "AUTH":
			fmt.Fprintf(conn, "%s\r\n", p.auth(said, ask))
		case verb == "DATA":
			p.letter = p.read(ask("354 go on"), in)
			fmt.Fprint(conn, "250 taken\r\n")
		case verb == "QUIT":
			fmt.Fprint(conn, "221 bye\r\n")
			return
		default:
			fmt.Fprint(conn, "250 fine\r\n")
		}
	}
}

// auth accepts everyone whose password is "right".
func (p *postOffice) auth(said string, ask func(string) string) string {
	plain := func(text string) string {
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			p.t.Errorf("%q: %v", text, err)
		}
		return string(b)
	}
	var user, password string
	if secret, ok := strings.CutPrefix(said, "AUTH PLAIN "); ok {
		_, both, _ := strings.Cut(plain(secret), "\x00")
		user, password, _ = strings.Cut(both, "\x00")
	} else {
		user = plain(ask("334 " + base64.StdEncoding.EncodeToString([]byte("Username:"))))
		password = plain(ask("334 " + base64.StdEncoding.EncodeToString([]byte("Password:"))))
	}
	p.logins = append(p.logins, user+" "+password)
	if password != "right" {
		return "535 5.7.8 who are you"
	}
	return "235 welcome"
}

func (p *postOffice) read(line string, in *bufio.Reader) string {
	var all strings.Builder
	for line != "." {
		all.WriteString(line + "\r\n")
		next, err := in.ReadString('\n')
		if err != nil {
			break
		}
		line = strings.TrimRight(next, "\r\n")
	}
	return all.String()
}

var (
	start     = time.Date(2026, 5, 12, 9, 30, 0, 0, time.UTC)
	hotBoiler = delivery.Message{
		ID: "A.firing.ops", Event: "alert.firing", Title: "[critical] firing: too hot, Kühl\r\nBcc: x@y.example", Text: "Kühl Bcc: x@y.example\nValue:    101 (peak: 103)\n",
	}
	toTwo = []string{"ops@example.com", "night@example.com"}
)

// Emails are delivered, or fail, with all kinds of mail servers.
func TestEmail(t *testing.T) {
	good, roots := vouched(t, "127.0.0.1")
	other, otherRoots := vouched(t, "mail.example.com")
	ada := func(m *delivery.Mail) { m.User, m.Password = "ada", "right" }
	auth := []string{"SIZE 1000000", "AUTH PLAIN LOGIN"}
	for _, c := range []struct {
		name   string
		office postOffice
		mail   func(*delivery.Mail)
		fails  string // part of the error; "" means that the email is delivered
		login  string
	}{
		{"STARTTLS, a password", postOffice{starttls: true, offers: auth}, ada, "", "ada right"},
		{"STARTTLS, nobody asks who", postOffice{starttls: true}, nil, "", ""},
		{"STARTTLS, though it need not be", postOffice{starttls: true}, func(m *delivery.Mail) { m.Plain = true }, "", ""},
		{"TLS from the start", postOffice{implicit: true, offers: auth}, func(m *delivery.Mail) { ada(m); m.TLS = true }, "", "ada right"},
		{"only LOGIN is offered", postOffice{starttls: true, offers: []string{"AUTH LOGIN XOAUTH2"}}, ada, "", "ada right"},
		{"not encrypted, as was said", postOffice{}, func(m *delivery.Mail) { m.Plain = true }, "", ""},
		{"no STARTTLS", postOffice{offers: auth}, ada, "does not offer STARTTLS", ""},
		{"no STARTTLS, no password", postOffice{}, nil, "does not offer STARTTLS", ""},
		{"a wrong password", postOffice{starttls: true, offers: auth}, func(m *delivery.Mail) { m.User, m.Password = "ada", "wrong" }, `log in as "ada": 535`, "ada wrong"},
		{"nobody can log in", postOffice{starttls: true}, ada, "PLAIN or LOGIN is needed", ""},
		{"another way to log in", postOffice{starttls: true, offers: []string{"AUTH XOAUTH2"}}, ada, `offers AUTH "XOAUTH2"`, ""},
		{"nobody vouches for it", postOffice{starttls: true, offers: auth}, func(m *delivery.Mail) { ada(m); m.Roots = otherRoots }, "STARTTLS: tls: failed to verify certificate", ""},
		{"TLS that nobody vouches for", postOffice{implicit: true}, func(m *delivery.Mail) { m.TLS, m.Roots = true, otherRoots }, "failed to verify certificate", ""},
		{"the certificate of another", postOffice{starttls: true, identity: other, offers: auth}, func(m *delivery.Mail) { ada(m); m.Roots = otherRoots }, "cannot validate certificate for 127.0.0.1", ""},
		{"TLS where there is none", postOffice{}, func(m *delivery.Mail) { m.TLS = true }, "tls: first record does not look like a TLS handshake", ""},
		{"one of two is unknown", postOffice{starttls: true, refuses: "RCPT TO:<night"}, nil, "to night@example.com: 550", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &c.office
			if p.t = t; p.identity.PrivateKey == nil {
				p.identity = good
			}
			addr, done := p.open()
			m := delivery.Mail{Addr: addr, From: "Onefold <alerts@example.com>", Roots: roots}
			if c.mail != nil {
				c.mail(&m)
			}
			send, err := m.Sender()
			if err != nil {
				t.Fatal(err)
			}
			err = send(t.Context(), toTwo, &hotBoiler, start)
			done()
			p.check(err, c.fails, c.login, m.Plain || m.TLS) // a client that begins with TLS sends nothing that this server would understand
		})
	}
}

// TestLetters sends a message whose subject and address try to add headers.
func TestLetters(t *testing.T) {
	identity, roots := vouched(t, "127.0.0.1")
	p := &postOffice{t: t, starttls: true, identity: identity}
	addr, done := p.open()
	send, err := delivery.Mail{Addr: addr, From: "Onefold <onefold@example.com>", Roots: roots}.Sender()
	if err != nil {
		t.Fatal(err)
	}
	err = send(t.Context(), []string{"ada@example.com"}, &delivery.Message{ID: "abc", Title: "Grüße\r\nBcc: eve@example.com", Text: "One line.\nAnother: ö.\n"}, start)
	done()
	if err != nil {
		t.Fatal(err)
	}
	letter, err := mail.ReadMessage(strings.NewReader(p.letter))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(letter.Header.Get("Subject"))
	if err != nil || subject != "Grüße Bcc: eve@example.com" || letter.Header.Get("Bcc") != "" || letter.Header.Get("To") != "<ada@example.com>" || letter.Header.Get("Message-Id") != "<abc@example.com>" {
		t.Errorf("%v %q %v", letter.Header, subject, err)
	}
	text, err := io.ReadAll(quotedprintable.NewReader(letter.Body))
	if err != nil || strings.ReplaceAll(string(text), "\r", "") != "One line.\nAnother: ö.\n" {
		t.Errorf("%q %v", text, err)
	}
	if _, err := (delivery.Mail{Addr: "nowhere"}).Sender(); !errors.Is(err, delivery.ErrInvalid) {
		t.Errorf("an address without a port: %v", err)
	}
}

// check expects a message without an error, or an error without a message.
func (p *postOffice) check(err error, fails, login string, plain bool) {
	p.t.Helper()
	if fails == "" && err != nil || fails != "" && (err == nil || !strings.Contains(err.Error(), fails)) {
		p.t.Errorf("%v, want %q", err, fails)
	}
	if (p.letter == "") != (fails != "") {
		p.t.Errorf("the letter: %q", p.letter)
	}
	if got := strings.Join(p.logins, ", "); got != login {
		p.t.Errorf("logins %q, want %q", got, login)
	}
	for _, said := range p.heard {
		if clear, ok := strings.CutPrefix(said, "clear "); ok && !plain && !slices.Contains([]string{"EHLO", "STARTTLS", "QUIT", "*"}, strings.Fields(clear + " ")[0]) {
			p.t.Errorf("said without TLS: %s", clear)
		}
	}
	if p.letter == "" {
		return
	}
	p.checkLetter()
}

func (p *postOffice) checkLetter() {
	p.t.Helper()
	letter, err := mail.ReadMessage(strings.NewReader(p.letter))
	if err != nil {
		p.t.Fatal(err)
	}
	for name, want := range map[string]string{
		"From": `"Onefold" <alerts@example.com>`, "To": "<ops@example.com>, <night@example.com>", "Message-Id": "<A.firing.ops@example.com>", "Bcc": "",
	} {
		if got := letter.Header.Get(name); got != want {
			p.t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	body, err := io.ReadAll(quotedprintable.NewReader(letter.Body))
	if err != nil || !strings.Contains(string(body), "Value:    101 (peak: 103)") || !strings.Contains(string(body), "Kühl Bcc: x@y.example") {
		p.t.Errorf("%v: %s", err, body)
	}
	all := strings.Join(p.heard, "\n")
	for _, want := range []string{"MAIL FROM:<alerts@example.com>", "RCPT TO:<ops@example.com>", "RCPT TO:<night@example.com>"} {
		if !strings.Contains(all, want) {
			p.t.Errorf("no %q in\n%s", want, all)
		}
	}
}

// If a mail server does not answer, the sender waits only until its own timeout.
func TestUnresponsiveMailServer(t *testing.T) {
	for _, implicit := range []bool{false, true} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		accepted := make(chan net.Conn, 1)
		go func() {
			if conn, err := l.Accept(); err == nil {
				accepted <- conn
			}
			cancel()
		}()
		send, err := (delivery.Mail{Addr: l.Addr().String(), From: "a@b.example", TLS: implicit}).Sender()
		if err != nil {
			t.Fatal(err)
		}
		if err := send(ctx, toTwo, &hotBoiler, start); !errors.Is(err, context.Canceled) {
			t.Errorf("TLS %t: %v", implicit, err)
		}
		(<-accepted).Close()
		l.Close()
	}
}

func TestEmailOptions(t *testing.T) {
	for code, m := range map[string]delivery.Mail{
		"mail_addr": {Addr: "mail.example.com", From: "a@b.example"}, "mail_from": {Addr: "x:25", From: "nobody"},
		"mail_plain": {Addr: "x:25", From: "a@b.example", Plain: true, User: "u"},
	} {
		var wrong *delivery.Error
		if _, err := m.Sender(); !errors.As(err, &wrong) || wrong.Code != code || !errors.Is(err, delivery.ErrInvalid) {
			t.Errorf("%+v: %v, want %s", m, err, code)
		}
	}
}

// A message with HTML has both forms, in lines of a length that every server takes, and a way to
// unsubscribe.
func TestMailWithHTML(t *testing.T) {
	identity, roots := vouched(t, "127.0.0.1")
	p := &postOffice{t: t, starttls: true, identity: identity}
	addr, done := p.open()
	senders, err := delivery.NewSenders(delivery.Options{Mail: delivery.Mail{Addr: addr, From: "reports@example.com", Roots: roots}})
	if err != nil {
		t.Fatal(err)
	}
	m := delivery.Message{ID: "r.1", Title: "Your week", Text: "Visitors: 3 = good\n.\nend\n", HTML: "<p>" + strings.Repeat("Ünï", 2000) + "</p>", To: []string{"ada@example.com"}, Unsubscribe: "https://onefold.example.com/unsubscribe/x"}
	err = senders.Send(t.Context(), delivery.Target{Kind: delivery.Email, Settings: delivery.Settings{To: toTwo}}, &m, start)
	done()
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(p.heard, "\n"); !strings.Contains(all, "RCPT TO:<ada@example.com>") || strings.Contains(all, "night@") {
		t.Errorf("recipients:\n%s", all)
	}
	letter, err := mail.ReadMessage(strings.NewReader(strings.ReplaceAll(p.letter, "\r\n..", "\r\n.")))
	if err != nil {
		t.Fatal(err)
	}
	if h := letter.Header; h.Get("List-Unsubscribe") != "<https://onefold.example.com/unsubscribe/x>" || h.Get("List-Unsubscribe-Post") != "List-Unsubscribe=One-Click" || h.Get("To") != "<ada@example.com>" {
		t.Errorf("%v", h)
	}
	kind, params, err := mime.ParseMediaType(letter.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		t.Fatalf("%s %v", kind, err)
	}
	parts := multipart.NewReader(letter.Body, params["boundary"]) // decodes quoted-printable
	for _, want := range []struct{ kind, text string }{{"text/plain; charset=utf-8", m.Text}, {"text/html; charset=utf-8", m.HTML}} {
		part, err := parts.NextPart()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(part)
		if got := strings.ReplaceAll(string(text), "\r", ""); err != nil || part.Header.Get("Content-Type") != want.kind || got != want.text {
			t.Errorf("%s: %q %v", part.Header.Get("Content-Type"), got, err)
		}
	}
	for line := range strings.SplitSeq(p.letter, "\r\n") {
		if len(line) > 998 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}
