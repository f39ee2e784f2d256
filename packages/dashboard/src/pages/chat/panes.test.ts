import { describe, expect, it } from 'vitest'
import { freshSession, panesIn, panesMax, pathOf } from './panes.ts'

describe('panes', () => {
  it('panes are read from the address as they were written into it', () => {
    const panes = [
      { agent: 'scribe', session: null },
      { agent: 'courier', session: 'reports' },
      { agent: 'scribe', session: null },
    ]
    const path = pathOf(panes)
    expect(path).toBe('/chat/scribe?beside=courier%3Areports&beside=scribe')
    expect(panesIn(path.slice(path.indexOf('?')))).toEqual(panes.slice(1))
    expect(pathOf([])).toBe('/chat')
    const ofTask = pathOf([
      { agent: 'scribe', session: null },
      { agent: 'courier', session: 'task:task_1' },
    ])
    expect(panesIn(ofTask.slice(ofTask.indexOf('?')))).toEqual([{ agent: 'courier', session: 'task:task_1' }])
  })

  it('panes are bounded, whatever the address says', () => {
    expect(panesIn(`?${'beside=a&'.repeat(50)}`)).toHaveLength(panesMax - 1)
    expect(panesIn('?beside=&beside=%3Ax')).toEqual([])
    expect(
      pathOf(Array.from({ length: 50 }, () => ({ agent: 'a', session: null }))).split('beside'),
    ).toHaveLength(panesMax)
  })

  it('panes give a new conversation a name that is free', () => {
    expect(freshSession(['dashboard'])).toBe('dashboard-2')
    expect(freshSession(['dashboard-2', 'dashboard-3'])).toBe('dashboard-4')
  })
})
