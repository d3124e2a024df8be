// Passkeys in the browser. The server sends the options as JSON and gets the browser's credential back.

import { Problem } from './api'

export const havePasskeys = typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential

// asked runs a browser prompt, which the user may cancel.
async function asked(question: () => Promise<Credential | null>): Promise<unknown> {
  try {
    const credential = (await question()) as PublicKeyCredential | null
    if (credential) return credential.toJSON()
  } catch (e) {
    if (e instanceof DOMException && e.name === 'InvalidStateError') throw new Problem(0, 'passkey_exists', 'This device already has a passkey for this account.')
    if (!(e instanceof DOMException) || e.name !== 'NotAllowedError') throw new Problem(0, 'passkey_failed', `The browser cannot use a passkey here: ${e instanceof Error ? e.message : e}`)
  }
  throw new Problem(0, 'passkey_cancelled', 'No passkey was used. Try again when you are ready.')
}

export const createPasskey = (options: unknown) =>
  asked(() => navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options as PublicKeyCredentialCreationOptionsJSON) }))

export const getPasskey = (options: unknown) =>
  asked(() => navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options as PublicKeyCredentialRequestOptionsJSON) }))
