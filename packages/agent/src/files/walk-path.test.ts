import { mkdirSync, mkdtempSync, renameSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { verifies } from '../../../../tests/verifies.ts'
import { assertInside } from './walk-path.ts'

/** A data directory beside others whose names begin with its own. */
function place() {
  const beside = mkdtempSync(join(tmpdir(), 'walk-'))
  const data = join(beside, 'data')
  for (const folder of ['data', 'data/sub', 'data-old', 'data2']) mkdirSync(join(beside, folder))
  for (const file of ['data/a', 'data/sub/b', 'data-old/secret', 'data2/secret', 'data.bak']) {
    writeFileSync(join(beside, file), 'x')
  }
  const opened = async (path: string) => {
    const handle = await open(join(beside, path))
    onTestFinished(() => handle.close())
    return handle
  }
  return { beside, data, opened }
}

describe('where the kernel says that an open file lies', () => {
  test.each(['data', 'data/a', 'data/sub/b'])('%s is inside', async (path) => {
    const { data, opened } = place()
    await expect(assertInside(data, await opened(path))).resolves.toBeUndefined()
  })

  test.each(['data-old/secret', 'data2/secret', 'data2', 'data.bak', '.'])(
    '%s is outside, however its name begins: what another agent or a backup keeps lies beside',
    async (path) => {
      verifies('limits:files:final-check')
      const { data, opened } = place()
      await expect(assertInside(data, await opened(path))).rejects.toMatchObject({ code: 'path-refused' })
    },
  )

  test('a file that was moved to a neighbour while it was open is outside from then on', async () => {
    verifies('limits:files:final-check')
    const { beside, data, opened } = place()
    const handle = await opened('data/sub/b')
    await assertInside(data, handle)
    renameSync(join(data, 'sub'), join(beside, 'data-sub'))
    await expect(assertInside(data, handle)).rejects.toMatchObject({ code: 'path-refused' })
  })
})
