import type { AskedFact, Facts, Finding, RunFact } from '../facts.ts'
import { describeRun } from './check-runs.ts'

/** Checks that every asker learns the outcome: a row exactly once, a person who stayed connected at least once. */
export function checkAskers(facts: Facts): Finding[] {
  return [
    ...facts.asked.flatMap((one) => checkAsker(facts, one)),
    ...checkLetters(facts),
    ...checkFirings(facts),
    ...checkSteers(facts),
  ]
}

function checkAsker({ runs }: Facts, asked: AskedFact): Finding[] {
  const stays = asked.way === 'waits' || asked.way === 'asks-twice'
  const wantsOutcome = asked.kind === 'chat' || asked.kind === 'invoke'
  if (stays && !asked.accepted) {
    return [finding('never-taken', `${asked.kind} ${asked.key} was never taken`, [asked.refused])]
  }
  if (!wantsOutcome) return []
  if (asked.told === null) {
    return stays ? [finding('asker-not-told', `${asked.key} waited and heard nothing`, asked.runIds)] : []
  }
  const run = runs.find(({ id }) => asked.runIds.includes(id))
  if (run?.outcome && run.outcome.status === asked.told.status && run.outcome.text === asked.told.text) {
    return []
  }
  const heard = `heard ${asked.told.status}: ${asked.told.text.slice(0, 200)}`
  return [
    finding('told-otherwise', `${asked.key} heard another outcome than the row has`, [
      heard,
      run ? describeRun(run) : 'no run',
    ]),
  ]
}

/**
 * A person gets one outbox row for each run they asked for; it may count as delivered only if that person read the
 * outcome.
 */
function checkLetters({ letters, runs, asked }: Facts): Finding[] {
  const byRun = Map.groupBy(letters, ({ runId }) => runId)
  const received = new Set(asked.filter(({ told }) => told !== null).flatMap(({ runIds }) => runIds))
  const known = new Set(asked.flatMap(({ runIds }) => runIds))
  const found: Finding[] = letters
    .filter(({ recipient, state }) => recipient.startsWith('run:') && state === 'pending')
    .map(({ id, source, recipient }) =>
      finding('letter-pending', `the letter ${id} to ${recipient} was never delivered`, [source]),
    )
  for (const run of runs.filter(isOfPerson)) {
    const own = (byRun.get(run.id) ?? []).filter(({ recipient }) => recipient.startsWith('human:'))
    if (own.length !== 1 && run.outcome !== null) {
      found.push(
        finding('letters-not-one', `a person has ${own.length} letters for one run`, [describeRun(run)]),
      )
    }
    if (own.some(({ state }) => state === 'delivered') && known.has(run.id) && !received.has(run.id)) {
      found.push(
        finding('delivered-to-nobody', 'an outcome counts as delivered that nobody read', [
          describeRun(run),
          ...own.map(({ id }) => id),
        ]),
      )
    }
  }
  return found
}

function isOfPerson(run: RunFact): boolean {
  return run.origin === 'human' && run.parentId === null
}

function checkFirings({ firings, runs }: Facts): Finding[] {
  return firings.flatMap(({ what, runId, outcome }) => {
    const run = runs.find(({ id }) => id === runId)
    // Some history tables append the reason to the status, after a colon.
    if (runId === null || (run?.outcome && outcome?.split(':')[0] === run.outcome.status)) return []
    return [
      finding('trigger-not-told', `${what} has the outcome ${outcome ?? 'of nothing'}`, [
        run ? describeRun(run) : `no run ${runId}`,
      ]),
    ]
  })
}

function checkSteers({ steers, steersSeen, asked, runs }: Facts): Finding[] {
  const found: Finding[] = [...steersSeen]
    .filter(([, times]) => times > 1)
    .map(([name, times]) =>
      finding('steer-twice', `the steer ${name} stands ${times} times in one conversation`, []),
    )
  for (const one of asked.filter(({ kind, accepted }) => kind === 'steer' && accepted)) {
    const rows = steers.filter(({ key }) => key === one.key)
    const [row] = rows
    if (rows.length !== 1 || !row) {
      found.push(finding('steer-not-one', `the steer ${one.key} has ${rows.length} rows`, []))
      continue
    }
    if (row.state === 'waiting') {
      found.push(finding('steer-waits', `the steer ${one.key} waits for ever`, [row.id]))
      continue
    }
    const became = runs.find(({ id }) => id === row.becameRunId)
    const wasRead = row.state === 'taken' || became?.state === 'done'
    if (wasRead && (steersSeen.get(one.key) ?? 0) === 0 && row.state !== 'taken') {
      found.push(finding('steer-unread', `the steer ${one.key} never reached its agent`, [row.id]))
    }
  }
  return found
}

function finding(check: string, what: string, evidence: readonly string[]): Finding {
  return { check, what, evidence }
}
