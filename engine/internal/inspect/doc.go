// Package inspect looks at all rows of a store from outside: whether they fit together, how many they are, and what each
// byte of them means. It exists so that what the engine writes can be checked without the code that writes it, and
// tested without a disk; only the engine uses it.
package inspect
