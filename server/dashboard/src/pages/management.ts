// The management pages but the account, in one file: they are small, and compress better together.
export { default as FirstPassword } from './FirstPassword.svelte'
export { default as Heat } from './Heat.svelte'
export { default as Invite } from './Invite.svelte'
export { default as NewSite } from './NewSite.svelte'
export { default as Reset } from './Reset.svelte'
export { default as Settings } from './Settings.svelte'
export { default as Setup } from './Setup.svelte'
