import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, test } from 'vitest'

const sources = import.meta.dirname
const packages = join(sources, '..', '..')
const staticImport = /^(?:import|export)(?! type\b)[^;]*?from '([^']+)'/gm

/** The source files of this project that loading one file loads. */
function loadedWith(file: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(file) || !existsSync(file)) return seen
  seen.add(file)
  for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(staticImport)) {
    const ours = /^@flotilla\/(\w+)\/(.+)$/.exec(name)
    if (name.startsWith('.')) loadedWith(join(dirname(file), name), seen)
    else if (ours) loadedWith(join(packages, ours[1] ?? '', 'src', `${ours[2]}.ts`), seen)
  }
  return seen
}

/** Modules that only a command at work needs: clients of the mesh, prompts, and the work of single commands. */
const forWorkAlone = [
  'cli/src/context.ts',
  'client/src/mesh-client.ts',
  'cli/src/print-error.ts',
  'cli/src/evals/run-eval.ts',
  'cli/src/demo/run-demo.ts',
]

const commands = readdirSync(join(sources, 'commands')).filter((name) => !name.includes('.test.'))

test.each(commands)('help of %s loads nothing that only its work needs', (name) => {
  const loaded = [...loadedWith(join(sources, 'commands', name))].map((file) => relative(packages, file))
  expect(loaded.length).toBeGreaterThan(1)
  expect(loaded.filter((file) => forWorkAlone.includes(file))).toEqual([])
})

test('the help of all commands loads no command at all', () => {
  const loaded = [...loadedWith(join(sources, 'run-command-line.ts'))].map((file) => relative(packages, file))
  expect(loaded).toContain('cli/src/command-table.ts')
  expect(
    loaded.filter((file) =>
      /\/commands\/|\/client\/src\/mesh|protocol\/src\/(?!clock|nearest-name)/.test(file),
    ),
  ).toEqual([])
})

test('a command that calls no mesh loads no client and no schema of an endpoint', () => {
  const loaded = [...loadedWith(join(sources, 'context.ts'))].map((file) => relative(packages, file))
  expect(loaded).toContain('cli/src/terminal/terminal.ts')
  expect(loaded.filter((file) => /client\/src\/mesh|-api\.ts$/.test(file))).toEqual([])
})
