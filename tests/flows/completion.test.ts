import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { debianPrograms } from '../support/debian-package.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'
import { cliProgram } from '../support/programs.ts'

const run = promisify(execFile)

let mesh: MeshProcess
let folder: string

beforeAll(async () => {
  ;[mesh, folder] = await Promise.all([startMesh(), mkdtemp(join(tmpdir(), 'flotilla-completion-'))])
  await mesh.createWorker('writer')
  // The program's path as on a person's PATH.
  const program = join(folder, 'flotilla')
  await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${cliProgram}' --url '${mesh.url}' "$@"\n`)
  await chmod(program, 0o755)
  for (const shell of ['bash', 'zsh', 'fish'] as const) {
    const { code, out, err } = await flotilla({ home: mesh.home }, 'completion', shell)
    if (code !== 0) throw new Error(err)
    await writeFile(join(folder, `flotilla.${shell}`), out)
  }
})
afterAll(async () => {
  await mesh?.stop()
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
})

/** Command lines, and the completions that a shell must offer for each. */
const cases: readonly (readonly [string, readonly string[]])[] = [
  ['flotilla sta', ['start', 'status']],
  ['flotilla completion ', ['bash', 'fish', 'zsh']],
  ['flotilla agent a', ['add']],
  ['flotilla init --pro', ['--provider']],
  ['flotilla chat wri', ['writer']],
  ['flotilla start --isolation ', ['container', 'gvisor', 'microvm']],
  ['flotilla start --template x --isolation g', ['gvisor']],
  // Agents are offered where the syntax expects an agent, after any other words.
  ['flotilla tasks reroute task_1 wri', ['writer']],
  ['flotilla tasks reroute --json task_1 wri', ['writer']],
  ['flotilla projects create acme wri', ['writer']],
  ['flotilla projects create acme operator wri', ['writer']],
  ['flotilla chat --session one wri', ['writer']],
  // Agents are offered after an option that takes an agent.
  ['flotilla runs --agent wri', ['writer']],
  ['flotilla tasks --agent wri', ['writer']],
  ['flotilla changes --agent wri', ['writer']],
  ['flotilla record --agent wri', ['writer']],
  ['flotilla eval --agent wri', ['writer']],
  ['flotilla journal export --json --agent wri', ['writer']],
]

/** Lines whose next operand or value is no agent, although the command takes an agent elsewhere. */
const withoutAgents: readonly string[] = [
  'flotilla chat operator wri',
  'flotilla steer operator wri',
  'flotilla put operator wri',
  'flotilla restart operator wri',
  'flotilla tasks reroute wri',
  'flotilla projects create wri',
  'flotilla chat --session wri',
  'flotilla create wri',
  // The name of an agent that does not exist yet.
  'flotilla init --agent wri',
  'flotilla journal export --action wri',
]

const environment = (more: Readonly<Record<string, string>> = {}) => ({
  PATH: `${folder}:${process.env['PATH'] ?? ''}`,
  HOME: mesh.home,
  FLOTILLA_HOME: mesh.home,
  TERM: 'xterm',
  LC_ALL: 'C.UTF-8',
  ...more,
})

/** Returns an installed shell, or one unpacked from the distribution's packages. */
async function shell(name: string, packages: readonly string[]): Promise<string | null> {
  const programs = await debianPrograms(folder, packages, name)
  return programs === null ? null : join(programs, name)
}

it('bash completes commands, choices, options and agents', async () => {
  const script = `
source "$1"
complete -p flotilla | grep -q -- '-F _flotilla ' || exit 3
read -r -a COMP_WORDS <<< "$2"
[[ $2 == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 ))
_flotilla
printf '%s\\n' "\${COMPREPLY[@]}"`
  for (const [line, offered] of cases) {
    const words = ['--norc', '--noprofile', '-c', script, 'bash', join(folder, 'flotilla.bash'), line]
    const { stdout } = await run('bash', words, { env: environment() })
    expect(stdout.trim().split('\n').toSorted(), line).toEqual(offered)
  }
  for (const line of withoutAgents) {
    const words = ['--norc', '--noprofile', '-c', script, 'bash', join(folder, 'flotilla.bash'), line]
    expect((await run('bash', words, { env: environment() })).stdout, line).not.toContain('writer')
  }
})

it('fish completes commands, choices, options and agents', async (test) => {
  const fish = await shell('fish', ['fish', 'fish-common', 'libpcre2-32-0'])
  if (fish === null) return test.skip('fish cannot be had here')
  const env = environment({ LD_LIBRARY_PATH: join(folder, 'usr/lib/x86_64-linux-gnu') })
  for (const [line, offered] of cases) {
    const words = ['--no-config', '-c', `source ${folder}/flotilla.fish; complete -C '${line}'`]
    const { stdout, stderr } = await run(fish, words, { env })
    expect(stderr, line).toBe('')
    const names = stdout
      .trim()
      .split('\n')
      .map((row) => row.split('\t')[0] ?? '')
    expect(names.toSorted(), line).toEqual(offered)
  }
  for (const line of withoutAgents) {
    const words = ['--no-config', '-c', `source ${folder}/flotilla.fish; complete -C '${line}'`]
    const { stdout, stderr } = await run(fish, words, { env })
    expect(stderr, line).toBe('')
    expect(stdout, line).not.toContain('writer')
  }
})

it('zsh completes commands, choices, options and agents at its prompt', async (test) => {
  const zsh = await shell('zsh', ['zsh', 'zsh-common'])
  if (zsh === null) return test.skip('zsh cannot be had here')
  // An unpacked zsh finds its modules and functions beside its program.
  const beside = zsh.startsWith(folder)
    ? `module_path=(${folder}/usr/lib/*/zsh/*(/)); fpath=(${folder}/usr/share/zsh/functions ${folder}/usr/share/zsh/functions/**/*(/))`
    : ':'
  await writeFile(
    join(folder, 'drive.zsh'),
    `${beside}
zmodload zsh/zpty
zpty shell "${zsh} -f -i"
zpty -w shell "${beside}; PS1='PRO''MPT> '; LISTMAX=1000; stty cols 200; autoload -Uz compinit; compinit -u -D; source ${folder}/flotilla.zsh"
# Keys that come before it has begun to read are none.
zpty -r -m shell said '*PROMPT*'
zpty -w -n shell "$1"$'\\t\\t'"$2"
all=''
for name in "\${@:3}"; do
  while [[ $all != *"$name"* ]]; do zpty -r -t shell said && all+=$said || sleep 0.05; done
done
print -r -- "$all"
`,
  )
  for (const [line, offered] of cases) {
    const words = ['-f', join(folder, 'drive.zsh'), line, '', ...offered]
    // The script waits until all completions are offered.
    const { stdout } = await run(zsh, words, { env: environment(), timeout: patient(30_000) })
    expect(stdout, line).not.toContain('uninstall')
  }
  for (const line of withoutAgents) {
    // The typed line is deleted again, and a final word shows that the shell has processed all of it.
    const words = ['-f', join(folder, 'drive.zsh'), line, "\u0015print -r -- THROU''GH\r", 'THROUGH']
    const { stdout } = await run(zsh, words, { env: environment(), timeout: patient(30_000) })
    expect(stdout, line).not.toContain('writer')
  }
})
