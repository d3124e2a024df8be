// Package ledger is an example of the kit: accounts, and transfers between them. A transfer is one
// transaction, which happens once however often it is sent. A handler of the change stream writes
// notices for the account holders. README.md explains what can go wrong in between, and why the
// result is correct nevertheless.
package ledger
