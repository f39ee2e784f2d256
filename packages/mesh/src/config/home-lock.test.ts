import { expect, test } from 'vitest'
import { lockHome } from './home-lock.ts'

test('a home is held by one at a time, and free again afterwards', async () => {
  const home = `/nowhere/${process.pid}-lock-test`
  const first = await lockHome(home)
  await expect(lockHome(home)).rejects.toMatchObject({ code: 'conflict' })
  await first.release()
  await (await lockHome(home)).release()
})

test('two homes do not meet', async () => {
  const locks = [await lockHome(`/a/${process.pid}`), await lockHome(`/b/${process.pid}`)]
  expect(locks).toHaveLength(2)
  await Promise.all(locks.map((lock) => lock.release()))
})
