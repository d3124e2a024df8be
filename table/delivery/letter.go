package delivery

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"strings"
	"time"
)

// letter formats a message as an email. Texts from users are encoded in the subject, and cannot
// start a header line.
func letter(from *mail.Address, to []string, m *Message, now time.Time) ([]byte, error) {
	_, domain, _ := strings.Cut(from.Address, "@")
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\r\n", args...) }
	names := make([]string, len(to))
	for i := range to {
		names[i] = (&mail.Address{Address: to[i]}).String()
	}
	line("From: %s", from.String())
	line("To: %s", strings.Join(names, ", "))
	line("Subject: %s", mime.QEncoding.Encode("utf-8", oneLine(m.Title)))
	line("Date: %s", now.UTC().Format(time.RFC1123Z))
	line("Message-ID: <%s@%s>", m.ID, domain)
	line("Auto-Submitted: auto-generated") // RFC 3834: no out-of-office replies
	if m.Unsubscribe != "" {
		line("List-Unsubscribe: <%s>", m.Unsubscribe)
		line("List-Unsubscribe-Post: List-Unsubscribe=One-Click") // RFC 8058
	}
	line("MIME-Version: 1.0")
	if m.HTML == "" {
		line("Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n")
		err := quoted(&b, m.Text)
		return b.Bytes(), err
	}
	return alternatives(&b, m)
}

// alternatives appends the body in two versions, of which mail programs show the last one that they
// can (RFC 2046, section 5.1.4): plain text, then HTML.
func alternatives(b *bytes.Buffer, m *Message) ([]byte, error) {
	parts := multipart.NewWriter(b)
	fmt.Fprintf(b, "Content-Type: multipart/alternative; boundary=%q\r\n\r\n", parts.Boundary())
	for _, part := range []struct{ kind, text string }{{"text/plain", m.Text}, {"text/html", m.HTML}} {
		w, err := parts.CreatePart(textproto.MIMEHeader{
			"Content-Type": {part.kind + "; charset=utf-8"}, "Content-Transfer-Encoding": {"quoted-printable"},
		})
		if err == nil {
			err = quoted(w, part.text)
		}
		if err != nil {
			return nil, err
		}
	}
	err := parts.Close()
	return b.Bytes(), err
}

// quoted writes a text as quoted-printable (RFC 2045), whose lines have at most 76 characters.
func quoted(w io.Writer, text string) error {
	q := quotedprintable.NewWriter(w)
	if _, err := io.WriteString(q, text); err != nil {
		return err
	}
	return q.Close()
}
