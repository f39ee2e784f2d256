import { execFileSync, spawn } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gzipSync } from 'node:zlib'

/**
 * `node scripts/write-old-database.ts COMMIT...`: runs the mesh of each commit on a home of its own, lets its
 * operator answer once, and stores the database as `tests/support/old-databases/NEWEST-STEP.db.gz`. A test checks
 * that the present release opens each of them. Run it for every commit that is released or adds a schema step.
 */
const root = join(import.meta.dirname, '..')
const target = join(root, 'tests', 'support', 'old-databases')
const readyMaxMs = 120_000

for (const commit of process.argv.slice(2)) {
  try {
    console.log(`${commit}: ${await writeDatabase(commit)}`)
  } catch (error) {
    console.log(`${commit}: ${error instanceof Error ? error.message : String(error)}`)
    process.exitCode = 1
  }
}

async function writeDatabase(commit: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'flotilla-old-'))
  try {
    const code = join(folder, 'code')
    const home = join(folder, 'home')
    mkdirSync(code)
    execFileSync('sh', ['-c', `git archive ${commit} | tar --extract --directory ${code}`], { cwd: root })
    linkModules(code)
    mkdirSync(join(home, 'config'), { recursive: true })
    mkdirSync(join(home, 'cassettes'))
    writeFileSync(join(home, 'config', 'settings.json'), '{"default_model": "scripted/old"}')
    const track = { when: 'hello', turns: [{ content: 'An answer of then.' }] }
    writeFileSync(
      join(home, 'cassettes', 'old.json'),
      JSON.stringify({ version: 1, description: 'Old.', tracks: [track] }),
    )
    const said = await live({ code, home })
    return keep(join(home, 'data', 'mesh.db'), said)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Links the packages of today's checkout, except Flotilla's own, which come from the commit. */
function linkModules(code: string): void {
  const [from, to] = [join(root, 'node_modules'), join(code, 'node_modules')]
  mkdirSync(join(to, '@flotilla'), { recursive: true })
  for (const name of readdirSync(from)) {
    if (name !== '@flotilla' && !name.startsWith('.')) symlinkSync(join(from, name), join(to, name))
  }
  for (const name of readdirSync(join(code, 'packages'))) {
    symlinkSync(join(code, 'packages', name), join(to, '@flotilla', name))
  }
}

/** Runs the mesh of a commit and resolves to the outcome of its one question. */
async function live({ code, home }: { readonly code: string; readonly home: string }): Promise<string> {
  const main = join(code, 'packages', 'mesh', 'src', 'main.ts')
  const child = spawn(
    process.execPath,
    [main, 'serve', '--home', home, '--port', '0', '--runtime', 'process'],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: process.env['PATH'] ?? '', HOME: home } },
  )
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const bound = setTimeout(() => child.kill('SIGKILL'), readyMaxMs)
  try {
    let printed = ''
    child.stderr.on('data', (piece: Buffer) => (printed += piece.toString()))
    const url = await new Promise<string>((resolve, reject) => {
      child.stdout.on('data', (piece: Buffer) => {
        printed += piece.toString()
        const found = /"ready":true.*?"url":"([^"]+)"/.exec(printed)
        if (found?.[1]) resolve(found[1])
      })
      child.once('exit', () => reject(new Error(`it did not start: ${printed.slice(-300)}`)))
    })
    const reply = await fetch(`${url}/api/agents/operator/chat`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-requested-with': 'old' },
      body: JSON.stringify({ message: 'hello', session: 'main' }),
      signal: AbortSignal.timeout(readyMaxMs),
    })
    return (await reply.text()).includes('An answer of then.') ? 'answered' : 'not answered'
  } finally {
    child.kill('SIGTERM')
    await ended
    clearTimeout(bound)
  }
}

function keep(path: string, said: string): string {
  const database = new DatabaseSync(path)
  const newest = database.prepare('SELECT max(version) AS newest FROM schema_steps').get()?.['newest']
  const count = database.prepare('SELECT count(*) AS count FROM schema_steps').get()?.['count']
  database.exec('PRAGMA journal_mode=DELETE; VACUUM')
  database.close()
  mkdirSync(target, { recursive: true })
  const name = `${String(count).padStart(2, '0')}-steps-to-${String(newest)}.db.gz`
  const bytes = gzipSync(readFileSync(path), { level: 9 })
  writeFileSync(join(target, name), bytes)
  return `${said}; ${name}, ${bytes.length} bytes`
}
