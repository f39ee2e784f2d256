import { expect, it } from 'vitest'
import { notFound } from './not-found.ts'

it('the problem of an unknown id names the command that lists its kind, and no other', () => {
  expect(notFound('task', 'no task has this id')).toMatchObject({
    code: 'not-found',
    detail: 'no task has this id',
    repair: 'List the tasks: flotilla tasks.',
  })
})
