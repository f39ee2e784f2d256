import { broken } from './seal-archive.ts'

/**
 * Files of a home that a backup may contain; other names in an archive are rejected. The database and the data of
 * agents are separate entries.
 */
const places: readonly RegExp[] = [
  /^\.env$/,
  /^config\/./,
  /^data\/mesh-secret$/,
  /^data\/wallet-(?:seed|key)$/,
  /^data\/journal-anchors\.jsonl$/,
  /^data\/artifacts\/./,
  /^cassettes\/./,
  /^templates\/./,
]
const pathMaxBytes = 1024
const partsMax = 16

/** The reason why a backup must not contain a file or folder of this name, anywhere; null if it may. Pure. */
export function whyNoPath(path: string): string | null {
  const parts = path.split('/')
  if (Buffer.byteLength(path) > pathMaxBytes)
    return `the path of the file is longer than ${pathMaxBytes} bytes`
  if (parts.length > partsMax) return `the path of the file has more than ${partsMax - 1} folders`
  // oxlint-disable-next-line eslint/no-control-regex -- control characters are what this is about
  if (/[\u0000-\u001f\u007f\\\ufffd]/.test(path))
    return 'the name of the file has a control character, a backslash or bytes that are not UTF-8'
  return parts.some((part) => part === '' || part === '.' || part === '..')
    ? 'the path of the file has an empty part, . or ..'
    : null
}

/** Whether a home has files of this path. Pure. */
export function belongsInHome(path: string): boolean {
  return places.some((place) => place.test(path))
}

/** Returns the path if it leads to a place below the home that a backup may write. Problem `unprocessable`. Pure. */
export function checkedPath(path: string): string {
  if (whyNoPath(path) === null && belongsInHome(path)) return path
  throw broken(`the backup contains a file that no home has: ${JSON.stringify(path).slice(0, 200)}`)
}

const secrets: ReadonlySet<string> = new Set(['.env', 'data/mesh-secret'])
/**
 * The seed and the key that decrypts it: a backup without a passphrase never contains them, whatever other secrets it
 * includes.
 */
const wallet: ReadonlySet<string> = new Set(['data/wallet-seed', 'data/wallet-key'])

/** Which secrets a backup contains, and its passphrase; null without one. */
export interface BackupSecrets {
  readonly secrets: boolean
  readonly passphrase: string | null
}

/** Whether a backup omits a file of a home. Pure. */
export function isLeftOut(path: string, options: BackupSecrets): boolean {
  if (wallet.has(path)) return !options.secrets || options.passphrase === null
  return secrets.has(path) && !options.secrets
}

/** Secrets of a home that a backup may contain, in the order in which they are listed. */
export const secretPaths: readonly string[] = [...secrets, ...wallet]
/** The key of the certificate authority for inspected hosts: each home has its own, so no backup contains it. */
export const authorityPath = 'data/inspection-authority.pem'
