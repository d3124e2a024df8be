package main

import (
	"os/exec"
	"syscall"
	"testing"
)

// TestOtherClients runs whole sessions of independent clients, the AWS CLI and boto3, against a
// server that requires signatures.
func TestOtherClients(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		present []string // command that succeeds if the client is installed
		missing string
		session []string
	}{
		{"aws", []string{"aws", "--version"}, "the AWS command line is missing: install Debian's package awscli", []string{"sh", "testdata/sdk/session.sh"}},
		{"boto3", []string{"/usr/bin/python3", "-c", "import boto3"}, "boto3 is missing: install Debian's package python3-boto3", []string{"/usr/bin/python3", "testdata/sdk/session.py"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if err := exec.Command(c.present[0], c.present[1:]...).Run(); err != nil {
				t.Skipf("%s (%v)", c.missing, err)
			}
			s := startServer(t, "dynamodb", "--memory", "--addr", "127.0.0.1:0", "--access-key", "tester:a secret")
			session := exec.Command(c.session[0], append(c.session[1:], s.url, "tester", "a secret")...)
			if out, err := session.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			if err := s.end(t, syscall.SIGTERM); err != nil {
				t.Errorf("the server ended with %v", err)
			}
		})
	}
}
