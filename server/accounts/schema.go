package accounts

import (
	"time"

	"github.com/onefold/onefold/table"
)

// The entities. The keys of all their partitions begin with ACCOUNT#, also on the index.
var (
	Users = table.Define[User, UserKey]("accounts.user", table.Def[User]{
		PK: "ACCOUNT#USER#{userId}", SK: "PROFILE", Access: table.Access{Private: true, Ingest: table.Rights{Reads: backing}},
		Indexes: []table.Index[User]{{Name: "gsi1", PK: "ACCOUNT#USERS", SK: "USER#{userId}"}},
		Doc:     "A user with a password and roles on sites.",
	})
	Emails = table.Define[Email, EmailKey]("accounts.email", table.Def[Email]{
		PK: "ACCOUNT#EMAIL#{hash}", SK: "RESERVATION", Access: table.Access{Private: true},
		Doc: "An email address and the user who has it.",
	})
	Identities = table.Define[Identity, IdentityKey]("accounts.identity", table.Def[Identity]{
		PK: "ACCOUNT#IDENTITY#{hash}", SK: "IDENTITY", Access: table.Access{Private: true},
		Doc: "An identity at an OpenID provider and its user.",
	})
	Sessions = table.Define[Session, SessionKey]("accounts.session", table.Def[Session]{
		PK: "ACCOUNT#SESSION#{hash}", SK: "SESSION", Access: table.Access{Private: true},
		Indexes: []table.Index[Session]{{Name: "gsi1", PK: "ACCOUNT#SESSIONS#{userId}", SK: "SESSION#{hash}"}},
		Doc:     "A session of a browser that logged in or opened a shared view. Sessions of users are on the index.",
		Allow:   map[string]string{"heartbeat-index": "used is written once an hour at most"},
	})
	SecondFactors = table.Define[SecondFactor, UserKey]("accounts.secondFactor", table.Def[SecondFactor]{
		PK: "ACCOUNT#USER#{userId}", SK: "SECOND_FACTOR", Access: table.Access{Private: true},
		Doc: "The secret of a user's authenticator app, and hashes of recovery codes.",
	})
	Passkeys = table.Define[Passkey, PasskeyKey]("accounts.passkey", table.Def[Passkey]{
		PK: "ACCOUNT#USER#{userId}", SK: "PASSKEY#{passkeyId}", Access: table.Access{Private: true},
		Doc: "A passkey of a user: its public key.",
	})
	Notices = table.Define[Notice, NoticeKey]("accounts.notice", table.Def[Notice]{
		PK: "ACCOUNT#USER#{userId}", SK: "NOTICE#{kind}", Access: table.Access{Private: true},
		Doc: "A notice that was sent to a user and is not repeated for a while.",
	})
	Challenges = table.Define[Challenge, ChallengeKey]("accounts.challenge", table.Def[Challenge]{
		PK: "ACCOUNT#CHALLENGE#{hash}", SK: "CHALLENGE", Access: table.Access{Private: true},
		Doc: "A pending second step of a login, or a challenge that a passkey has answered. It is kept for minutes.",
	})
	Keys = table.Define[Key, KeyKey]("accounts.key", table.Def[Key]{
		PK: "ACCOUNT#KEY#{keyId}", SK: "KEY", Access: table.Access{Private: true, Ingest: table.Rights{Reads: table.Whole, Updates: table.Fields{"lastUsed"}}},
		Indexes: []table.Index[Key]{{Name: "gsi1", PK: "ACCOUNT#KEYS", SK: "KEY#{keyId}"}},
		Doc:     "An API key; its secret is not stored.",
		Allow:   map[string]string{"heartbeat-index": "lastUsed is a day, written once a day"},
	})
	Shares = table.Define[Share, ShareKey]("accounts.share", table.Def[Share]{
		PK: "ACCOUNT#SHARE#{shareId}", SK: "SHARE", Access: table.Access{Private: true},
		Indexes: []table.Index[Share]{{Name: "gsi1", PK: "ACCOUNT#SHARES#{site}", SK: "SHARE#{shareId}"}},
		Doc:     "A link to a site's statistics.",
	})
	Invitations = table.Define[Invitation, InvitationKey]("accounts.invitation", table.Def[Invitation]{
		PK: "ACCOUNT#INVITATION#{invitationId}", SK: "INVITATION", Access: table.Access{Private: true},
		Indexes: []table.Index[Invitation]{{Name: "gsi1", PK: "ACCOUNT#INVITATIONS#{site}", SK: "INVITATION#{invitationId}"}},
		Doc:     "A link to create an account with a role on a site.",
	})
	Setups = table.Define[Setup, SetupKey]("accounts.setup", table.Def[Setup]{
		PK: "ACCOUNT#SETUP", SK: "STATE", Access: table.Access{Private: true},
		Doc: "Whether the installation has an owner, and its setup link until it has one.",
	})
	SharedSecrets = table.Define[Shared, SharedKey]("accounts.shared", table.Def[Shared]{
		PK: "ACCOUNT#SHARED#{name}", SK: "SECRET", Access: table.Access{Private: true},
		Doc: "A secret that all servers of the table share.",
	})
	Entries = table.Define[Entry, EntryKey]("accounts.audit", table.Def[Entry]{
		PK: "ACCOUNT#AUDIT#{month}", SK: "ENTRY#{entryId}", Access: table.Access{Private: true},
		Immutable: true,
		Doc:       "An entry of the audit record: one change.",
	})
	Heads = table.Define[ChainHead, HeadKey]("accounts.audithead", table.Def[ChainHead]{
		PK: "ACCOUNT#AUDIT", SK: "HEAD", Access: table.Access{Private: true},
		Doc: "The head of the hash chain of the audit record.",
	})
)

// The access patterns. Their loads assume an installation of a hundred people whose dashboards are
// open all day.
var (
	UserByID = table.NewGet[UserKey](Users, table.GetDef{
		ID: "A1", Question: "a user", Load: table.Load{PerSecond: 5, Items: 1, ItemBytes: 500},
	})
	UserByEmail = table.NewGet[EmailKey](Emails, table.GetDef{
		ID: "A2", Question: "the user with an email address (login)", Load: table.Load{PerSecond: 0.01, Items: 1, ItemBytes: 200},
	})
	AllUsers = table.NewQuery(Users, table.QueryDef[struct{}]{
		ID: "A3", Question: "the users", Index: "gsi1", Load: table.Load{PerSecond: 0.001, Items: 100, ItemBytes: 500},
	})
	SessionByToken = table.NewGet[SessionKey](Sessions, table.GetDef{
		ID: "A4", Question: "the session of a token", Load: table.Load{PerSecond: 5, Items: 1, ItemBytes: 250},
	})
	KeyByID = table.NewGet[KeyKey](Keys, table.GetDef{
		ID: "A5", Question: "an API key", Load: table.Load{PerSecond: 1, Items: 1, ItemBytes: 300},
	})
	AllKeys = table.NewQuery(Keys, table.QueryDef[struct{}]{
		ID: "A6", Question: "the API keys", Index: "gsi1", Load: table.Load{PerSecond: 0.001, Items: 20, ItemBytes: 300},
	})
	ShareByID = table.NewGet[ShareKey](Shares, table.GetDef{
		ID: "A7", Question: "a share", Load: table.Load{PerSecond: 1, Items: 1, ItemBytes: 400},
	})
	SharesOfSite = table.NewQuery(Shares, table.QueryDef[SharesIn]{
		ID: "A8", Question: "the shares of a site", Index: "gsi1", Load: table.Load{PerSecond: 0.001, Items: 5, ItemBytes: 400},
	})
	EntriesOfMonth = table.NewQuery(Entries, table.QueryDef[AuditIn]{
		ID: "A9", Question: "the audit record of a month, latest first", Desc: true,
		Load: table.Load{PerSecond: 0.001, Items: 50, ItemBytes: 500},
	})
	SetupState = table.NewGet[SetupKey](Setups, table.GetDef{
		ID: "A10", Question: "whether the installation has an owner", Load: table.Load{PerSecond: 0.01, Items: 1, ItemBytes: 150},
	})
	InvitationByID = table.NewGet[InvitationKey](Invitations, table.GetDef{
		ID: "A11", Question: "an invitation", Load: table.Load{PerSecond: 0.001, Items: 1, ItemBytes: 350},
	})
	InvitationsOfSite = table.NewQuery(Invitations, table.QueryDef[InvitationsIn]{
		ID: "A12", Question: "the open invitations to a site", Index: "gsi1", Load: table.Load{PerSecond: 0.001, Items: 5, ItemBytes: 350},
	})
	SharedByName = table.NewGet[SharedKey](SharedSecrets, table.GetDef{
		ID: "A13", Question: "a secret that all servers share", Load: table.Load{PerSecond: 0.0001, Items: 1, ItemBytes: 150},
	})
	SessionsOfUser = table.NewQuery(Sessions, table.QueryDef[OfUserIn]{
		ID: "A14", Question: "the sessions of a user", Index: "gsi1", Load: table.Load{PerSecond: 0.02, Items: 5, ItemBytes: 350},
	})
)

// The access patterns of second factors.
var (
	SecondFactorOfUser = table.NewGet[UserKey](SecondFactors, table.GetDef{
		ID: "A15", Question: "a user's second factor (login)", Load: table.Load{PerSecond: 0.01, Items: 1, ItemBytes: 1000},
	})
	ChallengeByHash = table.NewGet[ChallengeKey](Challenges, table.GetDef{
		ID: "A16", Question: "a pending second step of a login", Load: table.Load{PerSecond: 0.01, Items: 1, ItemBytes: 250},
	})
	PasskeysOfUser = table.NewQuery(Passkeys, table.QueryDef[OfUserIn]{
		ID: "A17", Question: "the passkeys of a user", Load: table.Load{PerSecond: 0.01, Items: 3, ItemBytes: 500},
	})
	PasskeyByID = table.NewGet[PasskeyKey](Passkeys, table.GetDef{
		ID: "A18", Question: "a passkey (login)", Load: table.Load{PerSecond: 0.01, Items: 1, ItemBytes: 500},
	})
)

// The access pattern of OpenID identities.
var IdentityByHash = table.NewGet[IdentityKey](Identities, table.GetDef{
	ID: "A22", Question: "the user of an identity at an OpenID provider (login)", Load: table.Load{PerSecond: 0.01, Items: 1, ItemBytes: 250},
})

// The access patterns of the record's chain.
var (
	EntriesInOrder = table.NewQuery(Entries, table.QueryDef[AuditIn]{
		ID: "A19", Question: "the audit record of a month, oldest first",
		Load: table.Load{PerSecond: 0.0001, Items: 1000, ItemBytes: 500},
	})
	EntryByID = table.NewGet[EntryKey](Entries, table.GetDef{
		ID: "A20", Question: "an entry of the audit record", Load: table.Load{PerSecond: 0.0001, Items: 1, ItemBytes: 500},
	})
	HeadOfRecord = table.NewGet[HeadKey](Heads, table.GetDef{
		ID: "A21", Question: "the head of the audit record", Load: table.Load{PerSecond: 0.01, Items: 1, ItemBytes: 250},
	})
)

// SharesIn has the site whose shares to read.
type SharesIn struct {
	Site string `dynamodbav:"site"`
}

// InvitationsIn has the site whose invitations to read.
type InvitationsIn struct {
	Site string `dynamodbav:"site"`
}

// OfUserIn has the user whose sessions or passkeys to read.
type OfUserIn struct {
	UserID string `dynamodbav:"userId"`
}

// AuditIn has the month whose changes to read, YYYY-MM in UTC.
type AuditIn struct {
	Month string `dynamodbav:"month"`
}

// Schema has all entities and access patterns of this package.
var Schema = table.MustSchema("accounts",
	Users, Emails, Identities, Sessions, SecondFactors, Passkeys, Notices, Challenges, Keys, Shares, Invitations, Setups, SharedSecrets, Entries, Heads,
	UserByID, UserByEmail, AllUsers, SessionByToken, KeyByID, AllKeys, ShareByID, SharesOfSite, EntriesOfMonth, SetupState,
	InvitationByID, InvitationsOfSite, SharedByName, SessionsOfUser, SecondFactorOfUser, ChallengeByHash, PasskeysOfUser, PasskeyByID,
	EntriesInOrder, EntryByID, HeadOfRecord,
	IdentityByHash,
)

var (
	headHash        = table.FieldOf(Heads, func(h *ChainHead) *string { return &h.Hash })
	userVersion     = table.FieldOf(Users, func(u *User) *int { return &u.Version })
	setupDone       = table.FieldOf(Setups, func(s *Setup) *time.Time { return &s.Done })
	sessionTTL      = table.FieldOf(Sessions, func(s *Session) *time.Time { return &s.Expires })
	sessionUsed     = table.FieldOf(Sessions, func(s *Session) *time.Time { return &s.Used })
	passkeyNamed    = table.FieldOf(Passkeys, func(p *Passkey) *string { return &p.Name })
	factorConfirmed = table.FieldOf(SecondFactors, func(f *SecondFactor) *time.Time { return &f.Confirmed })
	invitationHash  = table.FieldOf(Invitations, func(i *Invitation) *string { return &i.Hash })
	keyLastUsed     = table.FieldOf(Keys, func(k *Key) *string { return &k.LastUsed })
)
