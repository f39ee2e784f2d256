import { expect, it } from 'vitest'
import { createAwaitedEvent, createAwaitedNotice } from './domain-event.ts'

async function publishedTo(event: ReturnType<typeof createAwaitedEvent<string>>) {
  const called: string[] = []
  event.subscribe(async (fact) => void called.push(`first ${fact}`))
  event.subscribe(async () => {
    throw new Error('the disk is full')
  })
  event.subscribe(() => {
    throw new Error('broken')
  })
  event.subscribe(async (fact) => void called.push(`last ${fact}`))
  await expect(event.publish('ann')).rejects.toThrow('the disk is full')
  return called
}

it('an awaited event ends at the listener that fails, since it may be a veto', async () => {
  expect(await publishedTo(createAwaitedEvent())).toEqual(['first ann'])
})

it('an awaited notice calls every listener and reports the first failure', async () => {
  expect(await publishedTo(createAwaitedNotice())).toEqual(['first ann', 'last ann'])
})
