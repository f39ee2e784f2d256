import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { expect } from 'vitest'
import { readSettingsFile } from '../../packages/foundation/src/config/settings-file.ts'
import { commandLineNames, environmentNames } from '../../packages/foundation/src/config/environment.ts'
import { commandProgram } from './command-program.ts'
import { flotilla } from './flotilla-command.ts'
import { heldPort } from './held-port.ts'
import { startLlmUpstream } from './llm-upstream.ts'
import type { LlmUpstream } from './llm-upstream.ts'
import { pinnedNode, repositoryRoot } from './mesh-process.ts'
import { patient } from './patience.ts'
import { cliProgram, userCaches } from './programs.ts'
import type { ReadmeStep } from './readme-steps.ts'

/**
 * Commands that only call the mesh, without relative files, shell variables or pipes. They run in this process: other
 * tests cover separate processes, which take longer than the commands themselves.
 */
const asksMesh =
  /^flotilla (?<words>(?:agents?|apply|archive|blackboard|browser|budget|changes|channels|chat|costs|credentials|cron|fork|heartbeat|hibernate|history|journal|messages|models|pause|pending|people|permissions|projects|replay|restart|resume|runs|status|tasks|templates|topics|trace|unarchive|undo|wallet|walls|watchers|webhooks)(?: .*)?)$/
/** Commands for which a program works on the home, with or without a running mesh. */
const asksHome = /^flotilla (?<words>(?:backup|doctor|prune|restore|verify)(?: .*)?)$/
const ofShell = /[`$|<>;&*~\\]/
const quoted = /"([^"]*)"|'([^']*)'/g

/** Splits a line into words as a shell does; such lines use no shell syntax but quotes. */
const argumentsIn = (line: string): readonly string[] =>
  [...line.matchAll(/(?:[^\s"']+|"[^"]*"|'[^']*')+/g)].map(([word]) =>
    word.replaceAll(quoted, (_whole, double?: string, single?: string) => double ?? single ?? ''),
  )

const commandMaxMs = patient(120_000)

/** Keys that the owner in this test writes where a page leaves the choice to the reader. */
const keysBeside = ['GROQ', 'BRAVE', 'ANTHROPIC'].map((name) => `FLOTILLA_SYSTEM_${name}_API_KEY=sk-${name}`)

export interface CommandEnded {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** A simulated person who reads pages on a separate machine and types their commands in order. */
export interface PageReader {
  readonly folder: string
  readonly port: number
  readonly upstream: LlmUpstream
  /** Command lines that the reader has found so far. */
  readonly met: ReadonlySet<string>
  take(step: ReadmeStep): Promise<void>
  /**
   * Runs a line as a person types it, in a shell of its own; a line that only calls the mesh runs in this process.
   * A command that does not end is terminated, which its exit code shows.
   */
  run(line: string, input?: string, environment?: Readonly<Record<string, string>>): Promise<CommandEnded>
  close(): Promise<void>
}

export interface ReaderHabits {
  /** What is typed into each command. A command that is not listed fails the test. */
  readonly typed: Readonly<Record<string, string>>
  /** Fills the placeholders of a line from the output of the command before, or from the reader's own values. */
  readonly filled: (line: string, before: string, reader: PageReader) => Promise<string>
  /** Further checks of a command's result, beside the exit code. */
  readonly look?: (line: string, ended: CommandEnded, reader: PageReader) => void
  /** Checks a block in another language: runs it, or names the test that does; throws otherwise. */
  readonly block?: (language: string, text: string, reader: PageReader) => Promise<void>
}

export async function startPageReader(habits: ReaderHabits): Promise<PageReader> {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-pages-'))
  const upstream = await startLlmUpstream()
  const port = await heldPort()
  const met = new Set<string>()
  const home = join(folder, '.flotilla')
  let lastOut = ''
  // The reader's folder: `npx` finds the repository's programs, and files that commands write stay out of it.
  await symlink(join(repositoryRoot, 'node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'package.json'), '{"private": true}')
  const ownBin = join(folder, 'bin')
  await mkdir(ownBin)
  await writeFile(
    join(ownBin, 'flotilla'),
    `#!/bin/sh\nexec "${pinnedNode}" --disable-sigusr1 "${cliProgram}" "$@"\n`,
    { mode: 0o755 },
  )

  async function run(
    line: string,
    input = '',
    environment: Readonly<Record<string, string>> = {},
  ): Promise<CommandEnded> {
    const bins = [ownBin, dirname(pinnedNode), join(repositoryRoot, 'node_modules', '.bin')]
    // npx finds the program, which a test of its own checks and which takes as long as the command itself. The same
    // holds for the launcher of a checkout, which checks whether all programs are built.
    const found = line === 'npx flotilla version' ? line : line.replace(/^npx /, '')
    const [ofMesh, ofHome] = ofShell.test(found.replaceAll(quoted, ''))
      ? []
      : [asksMesh.exec(found)?.groups?.['words'], asksHome.exec(found)?.groups?.['words']]
    if (ofMesh !== undefined) {
      const at = { url: `http://127.0.0.1:${port}`, home, input, environment }
      return flotilla(at, ...argumentsIn(ofMesh))
    }
    if (ofHome !== undefined) {
      const own = { FLOTILLA_PORT: String(port), FLOTILLA_RUNTIME: 'process', ...environment }
      return flotilla({ home, input, environment: own }, ...argumentsIn(ofHome))
    }
    const child = spawn('sh', ['-c', found], {
      cwd: folder,
      env: {
        PATH: [...bins, process.env['PATH'] ?? '/usr/bin:/bin'].join(':'),
        HOME: folder,
        XDG_CACHE_HOME: userCaches,
        FLOTILLA_PORT: String(port),
        FLOTILLA_RUNTIME: 'process',
        npm_config_update_notifier: 'false',
        npm_config_offline: 'true',
        ...environment,
      },
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: commandMaxMs,
    })
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    const ended = new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? -1)))
    const [code, out, err] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
    return { code, out, err }
  }

  async function command(line: string): Promise<void> {
    const input = habits.typed[line]
    expect(input, `the page has a command that nobody tries: ${line}`).toBeDefined()
    met.add(line)
    if (line.includes('<command>')) return everyHelp(line)
    const ended = await run(await habits.filled(line, lastOut, reader), input)
    lastOut = ended.out
    expect(ended, `${line}\n${ended.out}${ended.err}`).toMatchObject({ code: 0 })
    habits.look?.(line, ended, reader)
  }

  /** Runs one help command in a separate process; this process prints the help of all others. */
  async function everyHelp(line: string): Promise<void> {
    expect(await run(line.replace('<command>', 'status'))).toMatchObject({ code: 0 })
    const { commands } = await commandProgram()
    expect(commands.length).toBeGreaterThan(30)
    for (const one of commands) expect(one.helpInformation()).toContain(`Usage: flotilla ${one.name()}`)
  }

  async function writeEnv(snippet: string): Promise<void> {
    const own = snippet
      .replaceAll(/^(FLOTILLA_SYSTEM_[A-Z]+_API_KEY)=\.\.\./gm, '$1=sk-of-this-test')
      .replace('FLOTILLA_SYSTEM_OPENAI_BASE_URL=...', `FLOTILLA_SYSTEM_OPENAI_BASE_URL=${upstream.baseUrl}`)
    expect(own).not.toContain('=...')
    const path = join(home, '.env')
    const before = await readFile(path, 'utf8').catch(() => '')
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, [before.trimEnd(), own.trimEnd(), ...keysBeside, ''].join('\n'), { mode: 0o600 })
  }

  /** Merges each snippet into the earlier settings, as an owner would; a running mesh loads the file by itself. */
  async function writeSettings(snippet: string): Promise<void> {
    const path = join(home, 'config', 'settings.json')
    const before = JSON.parse(await readFile(path, 'utf8').catch(() => '{}')) as object
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, JSON.stringify(merged(before, JSON.parse(snippet)), null, 2))
    await readSettingsFile(path)
  }

  const reader: PageReader = {
    folder,
    port,
    upstream,
    met,
    run,
    take: async (step) => {
      if (step.kind === 'command') return command(step.line)
      if (step.kind === 'script') return script(step.name)
      if (step.kind === 'env') return writeEnv(step.text)
      if (step.kind === 'settings') return writeSettings(step.text)
      if (step.kind === 'block' && step.language === 'text') return expectOutput(lastOut, step.text)
      if (step.kind === 'block') {
        if (habits.block === undefined) throw new Error(`a block in ${step.language}, which nobody tries`)
        return habits.block(step.language, step.text, reader)
      }
      const names = [...environmentNames, ...Object.keys(commandLineNames)]
      const known = names.includes(step.name) || /^FLOTILLA_(?:SYSTEM|CRED)_/.test(step.name)
      expect(known, `${step.name} is a setting`).toBe(true)
    },
    close: async () => {
      await run('npx flotilla stop')
      await upstream.close()
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
  return reader
}

/**
 * Checks that a page shows its command's output: each line, in this order, with other lines between. `…` matches any
 * text within a line, and any number of spaces counts as one; lines that only draw a table are ignored.
 */
function expectOutput(printed: string, shown: string): void {
  const lines = printed.split('\n')
  let at = 0
  for (const line of shown.split('\n').filter((one) => one.trim() !== '')) {
    const parts = line
      .trim()
      .split('…')
      .map((part) =>
        part
          .trim()
          .replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)
          .replaceAll(/ +/g, String.raw`\s+`),
      )
    const pattern = new RegExp(String.raw`^\s*${parts.join('.*?')}\s*$`)
    const found = lines.findIndex((one, index) => index >= at && pattern.test(one))
    expect(found, `the page shows "${line}", and the command printed:\n${printed}`).toBeGreaterThanOrEqual(0)
    at = found + 1
  }
}

async function script(name: string): Promise<void> {
  const { scripts } = JSON.parse(await readFile(join(repositoryRoot, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  if (!(name in scripts)) throw new Error(`the page has a script that is not there: ${name}`)
}

function merged(left: unknown, right: unknown): unknown {
  if (!isObject(left) || !isObject(right)) return right
  const names = [...new Set([...Object.keys(left), ...Object.keys(right)])]
  return Object.fromEntries(
    names.map((name) => [name, name in right ? merged(left[name], right[name]) : left[name]]),
  )
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
