import { broken } from './seal-archive.ts'

/** Files of a home that a backup may have; what else an archive names is refused. Database and data of agents come beside them. */
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

/** Gives the path back where it leads to a place below the home that a backup may write. Problem `unprocessable`. Pure. */
export function checkedPath(path: string): string {
  const parts = path.split('/')
  const isPlain =
    path !== '' &&
    Buffer.byteLength(path) <= pathMaxBytes &&
    parts.length <= partsMax &&
    // oxlint-disable-next-line eslint/no-control-regex -- control characters are what this is about
    !/[\u0000-\u001f\u007f\\]/.test(path) &&
    parts.every((part) => part !== '' && part !== '.' && part !== '..')
  if (isPlain && places.some((place) => place.test(path))) return path
  throw broken(`it holds a file that belongs nowhere in a home: ${JSON.stringify(path).slice(0, 200)}`)
}

const secrets: ReadonlySet<string> = new Set(['.env', 'data/mesh-secret'])
/** Each opens the other: no backup that anybody can read has them, whatever it is told of other secrets. */
const wallet: ReadonlySet<string> = new Set(['data/wallet-seed', 'data/wallet-key'])

/** What a backup is told of secrets, and what closes it; null for nothing. */
export interface BackupSecrets {
  readonly secrets: boolean
  readonly passphrase: string | null
}

/** Whether a file of a home stays out of a backup. Pure. */
export function isLeftOut(path: string, options: BackupSecrets): boolean {
  if (wallet.has(path)) return !options.secrets || options.passphrase === null
  return secrets.has(path) && !options.secrets
}
