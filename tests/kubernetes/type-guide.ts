import { spawn } from 'node:child_process'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { pinnedNode, repositoryRoot } from '../support/mesh-process.ts'
import { cliProgram } from '../support/programs.ts'

/** Runs the commands of a page of docs/operations literally, in a folder of its own. */
export interface Typist {
  /** Runs lines and returns their output; rejects if one fails. */
  type(lines: readonly string[] | string): Promise<string>
  /** Runs one line and returns its output and exit code. */
  try(line: string): Promise<Typed>
}

export interface Typed {
  readonly code: number | null
  readonly said: string
}

/** Returns the command blocks below a heading, up to the next heading of its level. */
export async function guideBlocks(page: string, heading: string): Promise<readonly (readonly string[])[]> {
  const lines = (await readFile(join(repositoryRoot, page), 'utf8')).split('\n')
  const start = lines.indexOf(heading)
  if (start < 0) throw new Error(`${page} has no heading ${heading}`)
  const blocks: string[][] = [[]]
  for (const line of lines.slice(start + 1)) {
    if (/^#{1,3} /.test(line)) break
    if (line.startsWith('    ')) blocks.at(-1)?.push(line.trim())
    else if (blocks.at(-1)?.length !== 0) blocks.push([])
  }
  return blocks.filter((block) => block.length > 0)
}

/** In the commands, `flotilla` is that of this checkout on the given home, and `deploy` is the package's folder. */
export async function openTypist(
  folder: string,
  environment: Readonly<Record<string, string>>,
): Promise<Typist> {
  const programs = join(folder, 'programs')
  await mkdir(programs)
  for (const name of ['kubectl', 'helm']) {
    const program = process.env[`FLOTILLA_TEST_${name.toUpperCase()}`]
    if (program === undefined) throw new Error(`there is no ${name} here: run \`npm run test:kubernetes\``)
    await symlink(program, join(programs, name))
  }
  const words = [pinnedNode, cliProgram].map((word) => `'${word}'`).join(' ')
  await writeFile(join(programs, 'flotilla'), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 })
  await symlink(join(repositoryRoot, 'deploy'), join(folder, 'deploy'))
  const env = {
    ...process.env,
    ...environment,
    PATH: [programs, process.env['PATH'] ?? ''].join(delimiter),
  }

  async function attempt(line: string): Promise<Typed> {
    const child = spawn('bash', ['-c', line], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
    return { code, said: `${out}${err}` }
  }

  return {
    try: attempt,
    async type(lines) {
      const printed: string[] = []
      for (const line of [lines].flat()) {
        const { code, said } = await attempt(line)
        if (code !== 0) throw new Error(`${line}\nended with ${code}: ${said.slice(-3_000)}`)
        printed.push(said)
      }
      return printed.join('')
    },
  }
}
