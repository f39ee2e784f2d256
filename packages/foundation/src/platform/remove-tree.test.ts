import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { removeTree } from './remove-tree.ts'

function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'remove-tree-'))
  onTestFinished(() => void execFileSync('rm', ['-rf', folder]))
  return folder
}

const deepScript = `
import os, sys
os.chdir(sys.argv[1])
for _ in range(40):
  os.mkdir("e" * 250)
  os.chdir("e" * 250)
open("file", "w").close()
os.symlink(sys.argv[2], "link")
`

test('removeTree removes a tree whose paths are longer than the system takes, and nothing behind its links', async () => {
  const folder = aFolder()
  const [tree, beside] = [join(folder, '-rf'), join(folder, 'beside')]
  mkdirSync(tree)
  mkdirSync(beside, { mode: 0o500 })
  writeFileSync(join(folder, 'kept'), '')
  execFileSync('python3', ['-c', deepScript, tree, beside])
  await removeTree(tree)
  expect(readdirSync(folder).toSorted()).toEqual(['beside', 'kept'])
})

test.runIf(process.getuid?.() !== 0)('removeTree removes folders that their owner cannot read', async () => {
  const tree = join(aFolder(), 'tree')
  mkdirSync(join(tree, 'closed', 'inner'), { recursive: true })
  execFileSync('chmod', ['000', join(tree, 'closed')])
  await removeTree(tree)
  expect(existsSync(tree)).toBe(false)
})

test('a missing folder is no error', async () => {
  await expect(removeTree(join(aFolder(), 'none'))).resolves.toBeUndefined()
})
