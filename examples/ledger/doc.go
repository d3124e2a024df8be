// Package ledger is an example of the kit: accounts, and transfers between them. A transfer is one transaction that
// happens once however often it is sent, and a handler of the change stream tells the holders of the accounts. README.md
// says what can go wrong in between, and why it does not.
package ledger
