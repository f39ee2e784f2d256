import { broken } from './seal-archive.ts'

/** Files of a home that a backup may have; what else an archive names is refused. Database and data of agents come beside them. */
const places: readonly RegExp[] = [
  /^\.env$/,
  /^config\/./,
  /^data\/mesh-secret$/,
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

/** What of a home is a secret, and left out where no passphrase closes the backup. Pure. */
export function isSecret(path: string): boolean {
  return path === '.env' || path === 'data/mesh-secret'
}
