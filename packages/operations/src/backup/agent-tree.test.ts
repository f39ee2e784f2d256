import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  chmodSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  closeSync,
  ftruncateSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { patient } from '../../../../tests/support/patience.ts'
import { dataPaths, openHomeFolder } from '../../../foundation/src/config/index.ts'
import { systemClock } from '../../../foundation/src/platform/index.ts'
import { readProcessData, writeProcessData } from '../../../fleet/src/sandbox/process/process-data.ts'
import { openDatabase } from '../../../foundation/src/storage/index.ts'
import { makeBackup } from './make-backup.ts'
import { restoreBackup } from './restore-backup.ts'
import { verifyBackup } from './verify-backup.ts'

const isRoot = process.getuid?.() === 0

type Made =
  | { readonly kind: 'file'; readonly content: string; readonly mode: number }
  | { readonly kind: 'holes'; readonly size: number }
  | { readonly kind: 'folder'; readonly mode: number }
  | { readonly kind: 'symlink'; readonly target: string }
  | { readonly kind: 'hard-link' | 'pipe' }
type Planned = Made & { readonly name: string; readonly below: number; readonly modified: number }

/** One byte for each character, as in all names here. */
const bytes = (text: string) => Buffer.from(text, 'latin1')

const names = fc.oneof(
  fc
    .array(fc.integer({ min: 1, max: 255 }), { minLength: 1, maxLength: 20 })
    .map((codes) => String.fromCharCode(...codes).replaceAll('/', '_')),
  fc.constantFrom(
    'n',
    'N',
    'new\nline',
    '-rf',
    'a\\b',
    '..x',
    ' ',
    'x'.repeat(255),
    `${'a'.repeat(80)}${'\u00ff'.repeat(9)}18 size=999999999`,
    'umlaut-\u00c3\u00a4',
    '*?[x]',
  ),
)
const made: fc.Arbitrary<Made> = fc.oneof(
  fc.record({
    kind: fc.constant('file' as const),
    content: fc.string({ maxLength: 3000 }),
    mode: fc.constantFrom(0o600, 0o644, 0o755, 0o777, 0o4755, 0o2711, 0o400),
  }),
  fc.record({ kind: fc.constant('holes' as const), size: fc.integer({ min: 0, max: 3_000_000 }) }),
  fc.record({ kind: fc.constant('folder' as const), mode: fc.constantFrom(0o700, 0o755, 0o1777, 0o2750) }),
  fc.record({
    kind: fc.constant('symlink' as const),
    target: fc.constantFrom(
      'n',
      '/etc/passwd',
      '../../../../etc',
      'x/../n',
      '.',
      'no\nwhere',
      't'.repeat(300),
    ),
  }),
  fc.record({ kind: fc.constantFrom('hard-link' as const, 'pipe' as const) }),
)
const planned: fc.Arbitrary<Planned> = fc
  .tuple(made, names, fc.nat(), fc.constantFrom(0, 1, -5, 1_700_000_000.25, 2 ** 33 + 7))
  .map(([one, name, below, modified]) => ({ ...one, name, below, modified }))

/** Creates the planned entries and skips names that exist already. */
function makeTree(root: string, plan: readonly Planned[]): void {
  const folders = [bytes(root)]
  const linkable: Buffer[] = []
  for (const one of plan) {
    const parent = folders[one.below % folders.length] ?? bytes(root)
    const path = Buffer.concat([parent, bytes('/'), bytes(one.name)])
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined || one.name === '.' || one.name === '..')
      continue
    if (one.kind === 'file') writeFileSync(path, one.content)
    else if (one.kind === 'holes') {
      const file = openSync(path, 'w')
      ftruncateSync(file, one.size)
      closeSync(file)
    } else if (one.kind === 'folder') mkdirSync(path)
    else if (one.kind === 'symlink') symlinkSync(one.target, path)
    else if (one.kind === 'pipe') execFileSync('python3', ['-c', mkfifo, path.toString('hex')])
    else if (linkable.length > 0) linkSync(linkable[one.below % linkable.length] ?? path, path)
    else continue
    if (one.kind === 'file' || one.kind === 'folder') chmodSync(path, one.mode)
    if (one.kind !== 'hard-link') lutimesSync(path, one.modified, one.modified)
    if (one.kind === 'folder') folders.push(path)
    else linkable.push(path)
  }
}
const mkfifo = 'import os, sys; os.mkfifo(bytes.fromhex(sys.argv[1]))'

/** The content of a folder, by relative name. */
function treeOf(root: string): Map<string, string> {
  const found = new Map<string, string>()
  const inodes = new Map<number, string>()
  const walk = (below: string): void => {
    const here = Buffer.concat([bytes(root), bytes('/'), bytes(below)])
    for (const name of readdirSync(here, { encoding: 'buffer' })
      .map((one) => one.toString('latin1'))
      .toSorted()) {
      const path = below === '' ? name : `${below}/${name}`
      const at = Buffer.concat([bytes(root), bytes('/'), bytes(path)])
      const stats = lstatSync(at)
      const first = inodes.get(stats.ino)
      const isLinked = stats.nlink > 1 && !stats.isDirectory()
      if (isLinked && first === undefined) inodes.set(stats.ino, path)
      const content = stats.isFile()
        ? `file ${createHash('sha256').update(readFileSync(at)).digest('hex')} ${(stats.mode & 0o1777).toString(8)}`
        : stats.isDirectory()
          ? `folder ${(stats.mode & 0o7777).toString(8)}`
          : stats.isSymbolicLink()
            ? `link ${readlinkSync(at, { encoding: 'buffer' }).toString('latin1')}`
            : 'pipe'
      const time = stats.isDirectory() ? '' : ` ${Math.floor(stats.mtimeMs / 1000)}`
      found.set(path, isLinked && first !== undefined ? `${content} linked` : `${content}${time}`)
      if (stats.isDirectory()) walk(path)
    }
  }
  walk('')
  return found
}

/** Whether a restore skips an entry, by its type and not by the backup's own list. */
function isSkipped(path: string, what: string): boolean {
  if (what.startsWith('pipe')) return true
  const [, target] = /^link (.*?)(?: -?\d+| linked)$/s.exec(what) ?? []
  return target?.startsWith('../../../../') === true && path.split('/').length < 5
}

async function thereAndBack<Seen = ReturnType<typeof treeOf>>(
  fill: (root: string) => void,
  seen: (root: string) => Seen = treeOf as (root: string) => Seen,
) {
  const folder = mkdtempSync(join(tmpdir(), 'agent-tree-'))
  try {
    const old = dataPaths(join(folder, 'old'))
    mkdirSync(join(old.agentsFolder, 'a', 'data'), { recursive: true })
    const database = openDatabase(old.database)
    database.prepare('CREATE TABLE agents (id TEXT)').run()
    database.prepare('CREATE TABLE schema_steps (version INTEGER)').run()
    database.prepare("INSERT INTO agents VALUES ('a')").run()
    database.close()
    fill(join(old.agentsFolder, 'a', 'data'))
    const file = join(folder, 'backup')
    const asked = { file, passphrase: null, moved: () => {}, progress: () => {}, without: [] }
    const madeBackup = await makeBackup({
      ...asked,
      paths: old,
      secrets: false,
      homeId: 'home_0',
      product: '0',
      runtime: 'process',
      now: 0,
      pid: process.pid,
      randomBytes,
      agents: {
        without: [],
        read: (agent) => readProcessData(join(old.agentsFolder, agent), { group: null, clock: systemClock }),
        dataLimitBytes: () => 2 ** 30,
        measure: async () => 0,
      },
      signal: new AbortController().signal,
    })
    const verified = await verifyBackup({ ...asked, temporary: folder })
    const paths = dataPaths(join(folder, 'new'))
    const { leftOut } = await restoreBackup({
      ...asked,
      paths,
      verified,
      agentsElsewhere: false,
      openHome: () => openHomeFolder(paths),
      openAgents: async () => ({
        prepare: async () => {},
        write: (agent, tar) => writeProcessData(join(paths.agentsFolder, agent), tar),
        close: async () => {},
      }),
    })
    const [before, after] = [
      seen(join(old.agentsFolder, 'a', 'data')),
      seen(join(paths.agentsFolder, 'a', 'data')),
    ]
    return { made: madeBackup, verified, leftOut, before, after }
  } finally {
    // Node cannot remove paths that are longer than the system takes at once.
    execFileSync('rm', ['-rf', folder])
  }
}

test(
  'whatever an agent makes of its data, the backup is whole and gives the same back less what it names',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(planned, { maxLength: 25 }), async (plan) => {
        const {
          made: { skipped, left_out: leftOutMade },
          verified,
          leftOut,
          before,
          after,
        } = await thereAndBack((root) => makeTree(root, plan))
        expect(leftOutMade).toEqual([])
        expect(leftOut).toEqual([])
        const missing = [...before].filter(([path, what]) => isSkipped(path, what))
        expect(skipped.reduce((sum, { count }) => sum + count, 0)).toBe(missing.length)
        expect(verified.agents[0]?.skipped.count).toBe(missing.length)
        const kept = new Map([...before].filter(([path, what]) => !isSkipped(path, what)))
        expect(after).toEqual(kept)
      }),
      { numRuns: 30 },
    )
  },
  patient(120_000),
)

test('folders are kept up to the system’s path length, and deeper ones are listed', async () => {
  const deep = mkdtempSync(join(tmpdir(), 'agent-deep-'))
  onTestFinished(() => void execFileSync('rm', ['-rf', deep]))
  const script =
    'import os, sys\nos.chdir(sys.argv[1])\nfor _ in range(3000):\n  os.mkdir("d"); os.chdir("d")\n'
  mkdirSync(join(deep, 'data'))
  execFileSync('python3', ['-c', script, join(deep, 'data')])
  const data = await readProcessData(deep, { group: null, clock: systemClock })
  const { createTarFilter } = await import('./filter-tar.ts')
  const filter = createTarFilter({
    entriesMax: 10_000,
    bytesMax: 2 ** 20,
    bytesBy: '',
    readMaxBytes: 2 ** 30,
  })
  const out: Buffer[] = []
  for await (const piece of data?.tar ?? []) out.push(...filter.take(Buffer.from(piece)))
  const { pieces, data: found } = filter.end()
  // The folder itself and one for each two bytes of the longest path.
  expect(found).toMatchObject({ entries: 1 + 1920, skipped: { count: 3000 - 1920 } })
  await writeProcessData(
    join(deep, 'again'),
    (async function* all() {
      yield* [...out, ...pieces]
    })(),
  )
  expect(
    execFileSync('find', [join(deep, 'again', 'data')], { maxBuffer: 2 ** 26 })
      .toString()
      .split('\n'),
  ).toHaveLength(1922)
})

test.runIf(!isRoot)('a file that its own agent may not read is named, and the rest is kept', async () => {
  const {
    made: { skipped },
    after,
  } = await thereAndBack((root) =>
    makeTree(root, [
      { kind: 'file', content: 'hidden', mode: 0o000, name: 'hidden', below: 0, modified: 1 },
      { kind: 'file', content: 'kept', mode: 0o600, name: 'kept', below: 0, modified: 1 },
    ]),
  )
  expect(JSON.stringify(skipped)).toContain('hidden')
  expect([...after.keys()]).toEqual(['kept'])
})

const smallFiles = process.env['FLOTILLA_SOAK'] === '1' ? 100_000 : 20_000
const levels = 4000
/** What a hostile agent makes at once, beside names and types that the property test combines. */
const hostileTree = `
import os, socket, stat, sys
os.chdir(sys.argv[1])
os.mkfifo("pipe")
socket.socket(socket.AF_UNIX).bind("socket")
os.mknod("device", stat.S_IFCHR | 0o600, os.makedev(1, 3))
for name in ("new\\nline", "n" * 255, "PaxHeaders.0", "@LongLink", "closed"):
  with open(name, "w") as file: file.write(name)
os.chmod("closed", 0)
try: os.setxattr("closed", "user.note", b"kept nowhere")
except OSError: pass # Some file systems have none.
with open("sparse", "w") as file: file.truncate(200_000_000)
os.link("closed", "linked")
os.symlink("../../../../etc/passwd", "outside")
os.symlink("closed", "inside")
os.mkdir("small")
for number in range(${smallFiles}):
  os.close(os.open(f"small/{number}", os.O_CREAT | os.O_WRONLY))
for _ in range(${levels}):
  os.mkdir("d"); os.chdir("d")
`

test.runIf(isRoot)(
  'a backup of a hostile agent names its pipe, device, links and depth, and a restore has all else',
  async () => {
    const look = (root: string) => ({
      names: readdirSync(root).toSorted(),
      small: readdirSync(join(root, 'small')).length,
      closed: [readFileSync(join(root, 'closed'), 'utf8'), lstatSync(join(root, 'closed')).mode & 0o777],
      isLinked: lstatSync(join(root, 'linked')).ino === lstatSync(join(root, 'closed')).ino,
      sparse: lstatSync(join(root, 'sparse')).size,
      attributes: execFileSync('python3', [
        '-c',
        'import os, sys; print(os.listxattr(sys.argv[1]))',
        join(root, 'closed'),
      ]).toString(),
    })
    const { made, verified, leftOut, before, after } = await thereAndBack(
      (root) => void execFileSync('python3', ['-c', hostileTree, root]),
      look,
    )
    expect([made.left_out, leftOut]).toEqual([[], []])
    const [skipped] = made.skipped
    expect(skipped?.agent).toBe('a')
    expect(skipped?.count).toBe(verified.agents[0]?.skipped.count)
    const reasons = JSON.stringify(skipped?.first)
    for (const name of ['pipe', 'device', 'outside', 'd/d/d']) expect(reasons).toContain(name)
    const gone = ['device', 'outside', 'pipe', 'socket']
    expect(after).toEqual({
      ...before,
      names: before.names.filter((name) => !gone.includes(name)),
      attributes: '[]\n',
    })
    expect(after.small).toBe(smallFiles)
  },
  patient(120_000),
)
