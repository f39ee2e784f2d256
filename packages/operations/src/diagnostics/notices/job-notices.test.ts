import { expect, test } from 'vitest'
import { jobNotices } from './job-notices.ts'
import type { NoticedJob } from './job-notices.ts'

const known = { agents: ['operator', 'scout', 'old'], archived: ['old'] }
const aJob = (more: Partial<NoticedJob>): NoticedJob => ({
  id: 'digest',
  agent: 'scout',
  enabled: true,
  next_run: 5,
  schedule: '0 9 * * *',
  note: '',
  ...more,
})

test.each<[Partial<NoticedJob>, readonly unknown[]]>([
  [{}, []],
  [{ agent: 'scuot' }, ['cron job digest: there is no agent scuot; did you mean scout?']],
  [
    { agent: 'old' },
    ['cron job digest: old is archived, so it never fires; restore the agent or remove the job'],
  ],
  [
    { next_run: null, schedule: '0 0 30 2 *' },
    ['cron job digest: no coming time fits its schedule "0 0 30 2 *"; change it'],
  ],
  [{ note: 'its condition cannot be parsed: x' }, ['cron job digest: its condition cannot be parsed: x']],
  [{ note: 'every 3s counts as every 5s, the shortest interval' }, []],
  [{ agent: 'scuot', next_run: null, enabled: false }, []],
])('a cron job %j has the notices %j', (job, notices) => {
  expect(jobNotices([aJob(job)], known)).toEqual(notices)
})
