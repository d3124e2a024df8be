package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/onefold/onefold/server/accounts"
)

// ownerFlags create the first owner without a browser or terminal, as in a container.
type ownerFlags struct {
	OwnerEmail        string `help:"Email address of the first owner, created at startup while there is no owner. Requires --owner-password-file (default: none; a setup link is printed)." placeholder:"EMAIL" env:"ONEFOLD_OWNER_EMAIL"`
	OwnerPasswordFile string `help:"File that holds the password of the first owner, at least 10 characters. It is read only while there is no owner, and does not change a password." type:"path" placeholder:"FILE" env:"ONEFOLD_OWNER_PASSWORD_FILE"`
}

// maxPasswordFile is the maximum size of a password file in bytes.
const maxPasswordFile = 4096

// check returns an error if only one of the flags is set.
func (f *ownerFlags) check() error {
	if (f.OwnerEmail == "") != (f.OwnerPasswordFile == "") {
		return errors.New("bad_owner: --owner-email and --owner-password-file need each other: set both or none")
	}
	return nil
}

// create creates the first owner, unless there is one.
func (f *ownerFlags) create(ctx context.Context, s *store, out io.Writer) error {
	if f.OwnerEmail == "" {
		return nil
	}
	token, err := s.accounts.SetupToken(ctx)
	if err != nil || token == "" {
		return err
	}
	password, err := f.password()
	if err != nil {
		return err
	}
	u, err := s.accounts.SetUp(ctx, token, accounts.NewUser{Email: f.OwnerEmail, Password: password})
	if errors.Is(err, accounts.ErrSetUp) { // another server of the table was faster
		return nil
	}
	if err != nil {
		return fmt.Errorf("bad_owner: %w", err)
	}
	if err := s.accounts.RecordChange(ctx, accounts.Entry{Actor: byCommand, Action: "setup", Subject: u.UserID}, nil, describeUser(&u)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "setup: created the owner %s\n", u.Email)
	return err
}

func (f *ownerFlags) password() (string, error) {
	file, err := os.Open(f.OwnerPasswordFile)
	if err != nil {
		return "", fmt.Errorf("bad_owner: --owner-password-file: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxPasswordFile+1))
	if err = errors.Join(err, file.Close()); err != nil {
		return "", fmt.Errorf("bad_owner: --owner-password-file: %w", err)
	}
	password := strings.TrimRight(string(text), "\r\n")
	if len(text) > maxPasswordFile || strings.ContainsAny(password, "\r\n") {
		return "", fmt.Errorf("bad_owner: --owner-password-file %s: it must hold one line of at most %d bytes", f.OwnerPasswordFile, maxPasswordFile)
	}
	return password, nil
}
