// Package passkeytest simulates a browser with an authenticator: it creates passkeys and logs in
// with them, with faults on request.
package passkeytest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
)

// Authenticator has one passkey for one host. Its fields may be changed between uses.
type Authenticator struct {
	Origin  string // origin of the page, such as https://onefold.example.com
	Host    string // host to sign for; "": the requested one
	Counter uint32 // signature counter: each use adds 1; 0 at first means that it does not count
	Absent  bool   // no user verification by finger, face or PIN

	ID     []byte // of the passkey
	Handle []byte // user handle of its owner
	key    *ecdsa.PrivateKey
}

// options are the WebAuthn options, with only the fields that matter here.
type options struct {
	Challenge string
	RP        struct{ ID string }
	RPID      string `json:"rpId"`
	User      struct{ ID string }
}

var encoding = base64.RawURLEncoding

// Flags of authenticator data.
const present, verified, attested = 1, 4, 64

// Create creates a passkey as requested, and returns the browser's response: a PublicKeyCredential
// as JSON.
func (a *Authenticator) Create(asked []byte) ([]byte, error) {
	var o options
	if err := json.Unmarshal(asked, &o); err != nil {
		return nil, err
	}
	handle, err := encoding.DecodeString(o.User.ID)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	public, err := key.PublicKey.Bytes()
	if err != nil {
		return nil, err
	}
	a.key, a.Handle, a.ID = key, handle, make([]byte, 32)
	rand.Read(a.ID) // never fails
	data := a.data(o.RP.ID, attested)
	data = append(data, make([]byte, 16)...) // AAGUID of no model
	data = binary.BigEndian.AppendUint16(data, uint16(len(a.ID)))
	data = append(data, a.ID...)
	// COSE: {1: EC2, 3: ES256, -1: P-256, -2: x, -3: y}
	data = append(data, 0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20)
	data = append(data, public[1:33]...)
	data = append(data, 0x22, 0x58, 0x20)
	data = append(data, public[33:]...)
	// CBOR: {"fmt": "none", "attStmt": {}, "authData": data}
	object := []byte("\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x59")
	object = binary.BigEndian.AppendUint16(object, uint16(len(data)))
	return a.answer(map[string]any{
		"clientDataJSON":    encoding.EncodeToString(a.client("webauthn.create", o.Challenge)),
		"attestationObject": encoding.EncodeToString(append(object, data...)),
		"transports":        []string{"internal"},
	})
}

// Get logs in as requested, and returns the browser's response.
func (a *Authenticator) Get(asked []byte) ([]byte, error) {
	var o options
	if err := json.Unmarshal(asked, &o); err != nil {
		return nil, err
	}
	if a.key == nil {
		return nil, errors.New("passkeytest: there is no passkey yet")
	}
	client, data := a.client("webauthn.get", o.Challenge), a.data(o.RPID, 0)
	hash := sha256.Sum256(client)
	sum := sha256.Sum256(append(bytes.Clone(data), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, a.key, sum[:])
	if err != nil {
		return nil, err
	}
	return a.answer(map[string]any{
		"clientDataJSON":    encoding.EncodeToString(client),
		"authenticatorData": encoding.EncodeToString(data),
		"signature":         encoding.EncodeToString(signature),
		"userHandle":        encoding.EncodeToString(a.Handle),
	})
}

func (a *Authenticator) data(host string, flags byte) []byte {
	if a.Host != "" {
		host = a.Host
	}
	if flags |= present; !a.Absent {
		flags |= verified
	}
	if a.Counter > 0 {
		a.Counter++
	}
	hash := sha256.Sum256([]byte(host))
	return binary.BigEndian.AppendUint32(append(hash[:], flags), a.Counter)
}

func (a *Authenticator) client(kind, challenge string) []byte {
	text, err := json.Marshal(map[string]any{"type": kind, "challenge": challenge, "origin": a.Origin, "crossOrigin": false})
	if err != nil {
		panic(err) // unreachable: strings can be encoded
	}
	return text
}

func (a *Authenticator) answer(response map[string]any) ([]byte, error) {
	id := encoding.EncodeToString(a.ID)
	return json.Marshal(map[string]any{"id": id, "rawId": id, "type": "public-key", "authenticatorAttachment": "platform", "clientExtensionResults": map[string]any{}, "response": response})
}
