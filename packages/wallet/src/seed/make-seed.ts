import { pbkdf2 } from 'node:crypto'
import { promisify } from 'node:util'
import { entropyToMnemonic, validateMnemonic } from '@scure/bip39'
import { wordlist } from '@scure/bip39/wordlists/english.js'

/** The number of random bytes of a new seed: 24 words. */
const entropyBytes = 32
const stretch = promisify(pbkdf2)

/** Generates 24 BIP-39 words from 256 random bits. */
export function newMnemonic(randomBytes: (count: number) => Buffer): string {
  const entropy = randomBytes(entropyBytes)
  try {
    return entropyToMnemonic(entropy, wordlist)
  } finally {
    entropy.fill(0)
  }
}

/** Normalizes typed words to lower case with one space between them. Pure. */
export function plainMnemonic(typed: string): string {
  return typed.normalize('NFKD').trim().toLowerCase().split(/\s+/).join(' ')
}

/** True for 12, 15, 18, 21 or 24 words of the English list with a valid checksum. Pure. */
export function isMnemonic(mnemonic: string): boolean {
  return validateMnemonic(mnemonic, wordlist)
}

/** Returns the 64-byte BIP-39 seed without a 25th word (PBKDF2, HMAC-SHA512, 2048 rounds), off the event loop. */
export function seedOf(mnemonic: string): Promise<Buffer> {
  return stretch(mnemonic.normalize('NFKD'), 'mnemonic', 2048, 64, 'sha512')
}
