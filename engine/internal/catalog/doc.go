// Package catalog contains the descriptors of the engine's tables and streams: how they are made
// from requests and validated, how they are stored, and which items fit them. It does not use a
// store.
package catalog
