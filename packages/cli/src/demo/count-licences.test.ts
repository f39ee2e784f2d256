import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { countLicences } from './count-licences.ts'
import type { DemoProject } from './demo-project.ts'
import { isPermissive } from './licence-expression.ts'

/** A project folder with this lock file and these files, deleted after the callback. */
function withProject<T>(
  packages: object,
  files: Record<string, string>,
  use: (project: DemoProject) => T,
): T {
  const folder = mkdtempSync(join(tmpdir(), 'flotilla-count-'))
  try {
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, packages }))
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(join(folder, path, '..'), { recursive: true })
      writeFileSync(join(folder, path), content)
    }
    return use({ lockFile: join(folder, 'package-lock.json'), folderOf: (key) => join(folder, key) })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

describe('licence expression', () => {
  it.each([
    ['MIT', true],
    ['BSD-3-Clause', true],
    ['MPL-2.0', false],
    ['Public Domain', false],
    ['unknown', false],
    ['', false],
    ['(MIT OR GPL-3.0)', true],
    ['GPL-3.0 OR MIT', true],
    ['MIT AND GPL-3.0', false],
    ['MIT AND ISC', true],
    ['MIT AND (GPL-2.0 OR Apache-2.0)', true],
    ['GPL-3.0 OR MIT AND ISC', true],
    ['(GPL-3.0 OR MIT) AND MPL-2.0', false],
    ['Apache-2.0 WITH LLVM-exception', true],
    ['MIT OR', false],
    ['MIT AND', false],
    ['SEE LICENSE IN LICENSE', false],
  ])('%s is permissive: %s', (expression, expected) => {
    expect(isPermissive(expression)).toBe(expected)
  })
})

describe('licence count', () => {
  it('the licence count counts entries below node_modules that are no links, nested ones too', () => {
    const packages = {
      '': { license: 'Apache-2.0' },
      'packages/mine': { license: 'Apache-2.0' },
      'node_modules/mine': { link: true, resolved: 'packages/mine' },
      'node_modules/a': { license: 'MIT' },
      'node_modules/a/node_modules/b': { license: 'GPL-3.0' },
      'packages/mine/node_modules/@s/c': { license: 'MIT' },
    }
    const count = withProject(packages, {}, countLicences)
    expect(count.total).toBe(3)
    expect(Object.fromEntries(count.byLicence)).toEqual({ MIT: 2, 'GPL-3.0': 1 })
    expect(Object.fromEntries(count.notPermissive)).toEqual({ 'GPL-3.0': ['b'] })
  })

  it('the licence count asks the package itself where the lock file is silent: manifest, then text, then unknown', () => {
    const packages = {
      'node_modules/old': {},
      'node_modules/text': {},
      'node_modules/none': {},
      'node_modules/gone': {},
    }
    const count = withProject(
      packages,
      {
        'node_modules/old/package.json': '{"licenses":[{"type":"MIT","url":"x"},{"type":"GPL-2.0"}]}',
        'node_modules/text/package.json': '{}',
        'node_modules/text/LICENSE.md': 'Mozilla Public License Version 2.0',
        'node_modules/none/package.json': '{"name":"none"}',
      },
      countLicences,
    )
    expect(Object.fromEntries(count.byLicence)).toEqual({ 'MIT OR GPL-2.0': 1, 'MPL-2.0': 1, unknown: 2 })
    expect(Object.fromEntries(count.notPermissive)).toEqual({
      'MPL-2.0': ['text'],
      unknown: ['none', 'gone'],
    })
  })
})
