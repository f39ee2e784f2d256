import { globSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { packageAliases } from './package-aliases.ts'

const root = join(import.meta.dirname, '..', '..')
const aliases = packageAliases(root)

/** Applies a list of aliases as vite does: the first alias that matches is used. */
function aliased(specifier: string): string | null {
  const fitting = aliases.find(({ find }) => find.test(specifier))
  return fitting === undefined ? null : specifier.replace(fitting.find, fitting.replacement)
}

test('each import of a package in the sources leads a mutated copy to the file that node itself finds', () => {
  const imported = new Set(
    globSync(
      'packages/{protocol,foundation,identity,fleet,work,egress,inference,collaboration,browsing,wallet,inbound,operations}/src/**/*.ts',
      { cwd: root },
    ).flatMap((file) =>
      [
        ...readFileSync(join(root, file), 'utf8').matchAll(/^(?:import .*|\}) from '(@flotilla\/[^']+)'$/gm),
      ].map(([, one]) => one ?? ''),
    ),
  )
  expect(imported.size).toBeGreaterThan(50)
  for (const specifier of imported) {
    expect(aliased(specifier), specifier).toBe(realpathSync(fileURLToPath(import.meta.resolve(specifier))))
  }
})
