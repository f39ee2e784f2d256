import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import {
  copyFile,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { aCassette, calls, runs, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { openLedger } from '../support/ledger-view.ts'
import { openMesh, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { canMount, smallDiskForTest } from '../support/small-disk.ts'
import { patient } from '../support/patience.ts'
import { meshProgram } from '../support/programs.ts'

const passphrase = 'a long sentence that nobody guesses'
/** A passphrase costs half a second of CPU time each: the short tests encrypt and read only one backup. */
const isSoak = process.env['FLOTILLA_SOAK'] === '1'
const cassette = aCassette(
  {
    agents: ['left'],
    when: '^keep$',
    turns: [
      calls('memory_save', { key: 'harbour', content: 'The harbour is at Brest.', category: 'fact' }),
      runs('mkdir -p made && echo kept > made/note && ln -s note made/link'),
      calls('save_artifact', { name: 'report.md', content: 'The report.' }),
      calls('write_blackboard', { key: 'global/port', value: 'Brest' }),
      says('Kept.'),
    ],
  },
  { agents: ['left'], when: '^what did I say$', turns: [says('You said keep.')] },
  {
    agents: ['right'],
    when: '^work (\\d+)$',
    turns: [
      runs('for i in $(seq 20); do echo {{n}} >> lines; done', { capture: { n: '^work (\\d+)$' } }),
      calls('save_artifact', { name: 'busy.md', content: 'busy' }),
      says('Worked.'),
    ],
  },
)

/** Names of odd bytes, a socket, and 300 folders whose last path has 75,300 bytes; a backup stores 15 of them. */
const hostileTree = `
import os, socket, sys
os.chdir(sys.argv[1])
socket.socket(socket.AF_UNIX).bind("socket")
for name in (b"new\\nline", b"\\xff", b"n" * 255):
  open(name, "w").close()
os.mkdir("deep")
os.chdir("deep")
for _ in range(300):
  os.mkdir("e" * 250)
  os.chdir("e" * 250)
`

const rowsOf = (home: string, sql: string) => {
  const ledger = openLedger(home)
  try {
    return ledger.rows(sql)
  } finally {
    ledger.close()
  }
}

describe('a backup', () => {
  let mesh: MeshProcess
  let folder: string
  let secretFile: string
  const command = (home: string, ...words: string[]) => flotilla({ home }, ...words)
  const options = { cassettes: { talk: cassette } } as const
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'flotilla-backups-'))
    secretFile = join(folder, 'passphrase')
    await writeFile(secretFile, `${passphrase}\n`, { mode: 0o600 })
    mesh = await startMesh(options)
    await writeFile(join(mesh.home, '.env'), 'FLOTILLA_CRED_PLANTED=sk-planted-in-env-0123456789\n', {
      mode: 0o600,
    })
    await mesh.createWorker('left')
    await mesh.createWorker('right')
    const kept = await mesh.ask('keep', { agent: 'left' })
    if (kept.outcome?.text !== 'Kept.') throw new Error('the fleet has nothing to keep')
  })
  afterAll(async () => {
    await mesh.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const closed = () => ['--passphrase-file', secretFile]
  /** For tests that do not depend on encryption: how a backup is made, and how it is read. */
  const made = (file: string, home = mesh.home) =>
    command(home, 'backup', file, ...(isSoak ? closed() : ['--secrets-in-plain']))
  const opened = () => (isSoak ? closed() : [])

  it(
    'a backup is made while runs go on, and gives an empty home the same fleet',
    async () => {
      const working = Promise.all(
        [1, 2, 3, 4].map((number) => mesh.ask(`work ${number}`, { agent: 'right' })),
      )
      const file = join(folder, 'while-running')
      const made = await command(mesh.home, 'backup', file, ...closed())
      expect(made.code, made.err).toBe(0)
      expect(made.out).toContain('3 agents')
      expect(made.out).toContain(`flotilla verify ${file} --passphrase-file ${secretFile}`)
      expect((await working).map(({ outcome }) => outcome?.text)).toEqual(Array(4).fill('Worked.'))
      expect((await stat(file)).mode & 0o777).toBe(0o600)
      const bytes = await readFile(file)
      for (const plain of ['sk-planted', 'Brest', 'SQLite format']) expect(bytes.includes(plain)).toBe(false)
      expect(await readdir(join(mesh.home, 'run'))).not.toContainEqual(expect.stringMatching(/^backup-/))

      // Each file that a mesh in use has written is in the backup, or known to be left out.
      expect(made.err).toContain('Not in it: data/inspection-authority.pem')
      expect(made.err).not.toContain('does not belong to a home')

      const verified = await command(mesh.home, 'verify', file, ...closed())
      expect(verified.out).toMatch(/^The backup is complete: 3 agents/)
      const input = `${passphrase}\n`
      const sentIn = await flotilla({ home: mesh.home, input }, 'verify', file, '--passphrase-file', '-')
      expect(sentIn.out).toMatch(/^The backup is complete: 3 agents/)
      const wrong = await command(mesh.home, 'verify', file)
      expect(wrong.code).toBe(1)
      expect(wrong.err).toContain('encrypted')
      const shortFile = join(folder, 'short')
      await writeFile(shortFile, 'short\n')
      const short = await command(mesh.home, 'verify', file, '--passphrase-file', shortFile)
      expect(short.err).toContain('Name the file that the backup was made with')

      const home = join(folder, 'restored')
      const restored = await command(home, 'restore', file, ...closed())
      expect(restored.code, restored.err).toBe(0)
      expect(await readFile(join(home, '.env'), 'utf8')).toContain('sk-planted-in-env')
      // The copy has another id, because the old home stays in use.
      const idOf = (at: string) => readFile(join(at, 'data', 'home-id'), 'utf8')
      expect(await idOf(home)).not.toBe(await idOf(mesh.home))

      const again = openMesh(home, options)
      try {
        await again.restart()
        // Runs that were queued or executing at that moment continue.
        await eventually('nothing is open any more', async () => {
          const open = (await again.runs(200)).filter(({ state }) => ['queued', 'running'].includes(state))
          return open.length === 0 || null
        })
        const ids = (at: string) => rowsOf(at, 'SELECT id, kind, role FROM agents ORDER BY id')
        expect(ids(home)).toEqual(ids(mesh.home))
        const ended = (at: string) =>
          rowsOf(at, "SELECT id, input FROM runs WHERE state = 'done' AND agent_id = 'left'")
        expect(ended(home)).toEqual(ended(mesh.home))
        const costs = (at: string) =>
          rowsOf(at, "SELECT scope, spent_nano, calls FROM spend_total WHERE scope = 'agent:left'")
        expect(costs(home)).toEqual(costs(mesh.home))
        const artifact = await again.call(meshHumanEndpoints.artifact, {
          params: { agent: 'left', name: 'report.md' },
        })
        expect(artifact.text).toBe('The report.')
        const recalled = await again.invoke('left', 'memory_search', { query: 'harbour' })
        expect(JSON.stringify(recalled.outcome)).toContain('Brest')
        const note = await again.invoke('left', 'read_file', { path: 'made/link' })
        expect(JSON.stringify(note.outcome)).toContain('kept')
        const history = await command(home, 'history', 'left', '--url', again.url)
        expect(history.out).toContain('you: keep')
        const journal = await command(home, 'journal', 'verify')
        expect(journal.out).toContain('is intact')
      } finally {
        await again.stop()
      }
      // For a run that was executing then, the restored mesh waits for the lease: at most a minute.
    },
    patient(150_000),
  )

  it('a backup with secrets readable by every user is rejected, unless it is explicitly allowed', async () => {
    const file = join(folder, 'plain')
    const refused = await command(mesh.home, 'backup', file)
    expect(refused.code).toBe(1)
    expect(refused.err).toContain('--without-secrets')
    expect(existsSync(file)).toBe(false)
    expect((await command(mesh.home, 'backup', file, '--without-secrets')).code).toBe(0)
    expect((await readFile(file)).includes('sk-planted')).toBe(false)
    const spoken = join(folder, 'spoken')
    expect((await command(mesh.home, 'backup', spoken, '--secrets-in-plain')).code).toBe(0)
    expect((await readFile(spoken)).includes('sk-planted')).toBe(true)
    const twice = await command(mesh.home, 'backup', file, '--without-secrets')
    expect(twice.err).toContain('is there already')
  })

  it('a backup is refused into a home that is not empty, and where it is cut or changed; nothing is written', async () => {
    const file = join(folder, 'to-break')
    if (isSoak) expect((await made(file)).code).toBe(0)
    else await copyFile(join(folder, 'spoken'), file)
    const taken = await command(mesh.home, 'restore', file, ...opened())
    expect(taken.err).toMatch(/already runs|is not empty/)
    const full = join(folder, 'full')
    await mkdir(full)
    await writeFile(join(full, 'thesis.txt'), 'years of work')
    const refused = await command(full, 'restore', file, ...opened())
    expect(refused.err).toContain('is not empty')
    expect(await readdir(full)).toEqual(['thesis.txt'])
    const { size } = await stat(file)
    await truncate(file, size - 200)
    const empty = join(folder, 'empty')
    const cut = await command(empty, 'restore', file, ...opened())
    expect(cut.err).toContain('cut off')
    expect(await readdir(empty)).toEqual([])
  })

  it('a killed backup leaves no file under its name, and the next backup succeeds', async () => {
    const file = join(folder, 'killed')
    await killedAt(
      ['backup', '--file', file, ...(isSoak ? [] : ['--secrets', 'plain'])],
      mesh.home,
      /Reading the data of left/,
    )
    expect(existsSync(file)).toBe(false)
    // The agent in the backup continues its conversation.
    expect((await mesh.ask('what did I say', { agent: 'left' })).outcome?.text).toBe('You said keep.')
    const next = await made(file)
    expect(next.code, next.err).toBe(0)
    const left = (await readdir(join(mesh.home, 'run'))).filter((name) => name.startsWith('backup-'))
    expect(left).toEqual([])
    expect((await readdir(folder)).filter((name) => name.endsWith('.partial'))).toEqual([])
  })

  it('a killed restore leaves a home that does not start, and repeating the restore repairs it', async () => {
    const file = join(folder, isSoak ? 'to-restore' : 'spoken')
    if (isSoak) expect((await made(file)).code).toBe(0)
    const home = join(folder, 'half')
    await killedAt(['restore', '--file', file], home, /Writing the data of left/)
    const half = openMesh(home, options)
    await expect(half.restart()).rejects.toThrow(/restore into .* was interrupted/)
    const again = await command(home, 'restore', file, ...opened())
    expect(again.code, again.err).toBe(0)
    const whole = openMesh(home, options)
    try {
      await whole.restart()
      const note = await whole.invoke('left', 'read_file', { path: 'made/note' })
      expect(JSON.stringify(note.outcome)).toContain('kept')
    } finally {
      await whole.stop()
    }
  })

  it('a backup holds what a hostile agent leaves of its data, names the rest, and leaves an agent out when asked', async () => {
    const folderOf = (home: string, agent: string) =>
      join(home, 'data', 'agents', Buffer.from(agent).toString('hex'))
    const place = join(folderOf(mesh.home, 'right'), 'data')
    await promisify(execFile)('mkfifo', [join(place, 'pipe')])
    await truncate(await emptyFile(join(place, 'holes')), 64 * 1024 * 1024)
    await promisify(execFile)('python3', ['-c', hostileTree, place])
    onTestFinished(async () => void (await promisify(execFile)('rm', ['-rf', join(place, 'deep')])))
    const env = join(folder, 'moved.env')
    await rename(join(mesh.home, '.env'), env)
    await symlink(env, join(mesh.home, '.env'))
    const file = join(folder, 'hostile')
    const backup = await command(mesh.home, 'backup', file, '--secrets-in-plain')
    expect(backup.code, backup.err).toBe(0)
    expect(`${backup.out}${backup.err}`).toMatch(
      /286 entries of the data of right are not in the backup:[^]+\.\/pipe: a named pipe/,
    )
    expect((await stat(file)).size).toBeLessThan(32 * 1024 * 1024)
    expect((await readFile(file)).includes('sk-planted')).toBe(true)
    const verified = await command(mesh.home, 'verify', file)
    expect(verified.out).toMatch(/^The backup is complete: 3 agents/)
    expect(`${verified.out}${verified.err}`).toContain('./pipe: a named pipe')
    const home = join(folder, 'without')
    const unknown = await command(home, 'restore', file, '--without', 'nobody')
    expect(unknown.err).toContain('no agent with the id nobody')
    const restored = await command(home, 'restore', file, '--without', 'right')
    expect(restored.code, restored.err).toBe(0)
    expect(`${restored.out}${restored.err}`).toContain(
      'The data of right is not in the restored home: left out by --without',
    )
    expect(`${restored.out}${restored.err}`, 'what an agent lacks that is left out anyway').not.toContain(
      '286 entries',
    )
    expect(existsSync(join(folderOf(home, 'left'), 'data', 'made', 'note'))).toBe(true)
    expect(existsSync(folderOf(home, 'right'))).toBe(false)
    const whole = join(folder, 'whole')
    const all = await command(whole, 'restore', file)
    expect(all.code, all.err).toBe(0)
    const names = await readdir(Buffer.from(join(folderOf(whole, 'right'), 'data')), { encoding: 'latin1' })
    expect(names).toEqual(expect.arrayContaining(['deep', 'holes', 'new\nline', '\u00ff', 'n'.repeat(255)]))
    expect(names).not.toContain('pipe')
    expect(names).not.toContain('socket')
    expect(await readFile(join(home, '.env'), 'utf8')).toContain('sk-planted')
  })

  it.runIf(canMount)('a backup to a disk that is too small names the disk and leaves no file', async () => {
    const disk = await smallDiskForTest({ sizeMb: 4 })
    const backup = await command(mesh.home, 'backup', join(disk.folder, 'backup'), '--secrets-in-plain')
    expect(backup.code).not.toBe(0)
    expect(backup.err).toContain(disk.folder)
    expect(backup.err).toMatch(/needs \d+ MB on the disk of .*, which has \d+ MB free/)
    expect(await readdir(disk.folder)).toEqual([])
  })

  it('a backup of a home whose mesh is stopped succeeds too', async () => {
    await mesh.terminate()
    const file = join(folder, 'at-rest')
    const resting = await made(file)
    expect(resting.code, resting.err).toBe(0)
  })

  async function emptyFile(path: string): Promise<string> {
    await writeFile(path, '')
    return path
  }

  /** Runs the mesh program and kills it once it has printed a match. */
  async function killedAt(words: readonly string[], home: string, said: RegExp): Promise<void> {
    const child = spawn(process.execPath, [meshProgram(), ...words, '--home', home, '--runtime', 'process'], {
      env: isSoak ? { ...process.env, FLOTILLA_BACKUP_PASSPHRASE: passphrase } : process.env,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    let told = ''
    const ended = once(child, 'exit')
    await new Promise<void>((resolve, reject) => {
      child.stdout.on('data', (piece: Buffer) => {
        told += piece.toString()
        if (!said.test(told)) return
        child.kill('SIGKILL')
        resolve()
      })
      child.once('exit', () => reject(new Error(`it ended before it was killed: ${told}`)))
    })
    await ended
  }
})
