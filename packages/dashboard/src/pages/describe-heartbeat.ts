import type { HeartbeatFacts, HeartbeatFire } from '@flotilla/protocol/heartbeat-api'
import { formatCount } from '../data/format.ts'

const skipWords: Readonly<Record<string, string>> = {
  'nothing-to-do': 'there was nothing to do',
  overlap: 'the heartbeat before was still under way',
  archived: 'the agent is archived',
  paused: 'triggered work was paused',
}

/** Says why the last heartbeat ran or was skipped, as one sentence. Pure. */
export function describeHeartbeat({ manual, skipped, facts }: HeartbeatFire): string {
  if (skipped !== null) return `Skipped: ${skipWords[skipped] ?? skipped}.`
  const reasons = [
    ...(manual ? ['a person requested it'] : []),
    ...(facts?.default_rules === false ? ['HEARTBEAT.md has rules of its own'] : []),
    ...(facts?.default_rules === null ? ['the agent did not say whether it has work'] : []),
    ...(facts?.recent_activity === true ? ['the agent got or ended work since the heartbeat before'] : []),
    ...(facts ? findings(facts) : []),
  ]
  return reasons.length === 0 ? 'Ran.' : `Ran, because ${reasons.join('; ')}.`
}

/** Lists what the last heartbeat saw, each fact in a few words. Pure. */
export function heartbeatSights(facts: HeartbeatFacts): readonly string[] {
  const { default_rules: isDefault, recent_activity: isActive, disk_used_percent: disk } = facts
  return [
    isDefault === null
      ? 'rules unknown'
      : isDefault
        ? 'HEARTBEAT.md has its default text'
        : 'HEARTBEAT.md has rules of its own',
    isActive === null
      ? 'activity unknown'
      : isActive
        ? 'work since the heartbeat before'
        : 'no work since the heartbeat before',
    formatCount(facts.open_tasks, 'open task'),
    formatCount(facts.unread_signals, 'unread signal'),
    formatCount(facts.messages, 'kept message'),
    ...(facts.fleet_changes === 0 ? [] : [`${formatCount(facts.fleet_changes, 'change')} for the worse`]),
    disk === null ? 'disk use unknown' : `${disk} % of /data used`,
  ]
}

function findings(facts: HeartbeatFacts): readonly string[] {
  const words: Readonly<Record<string, string>> = {
    disk_usage: `${facts.disk_used_percent} % of /data is used`,
    pending_signals: formatCount(facts.unread_signals, 'unread signal'),
    pending_tasks: formatCount(facts.open_tasks, 'open task'),
    pending_messages: formatCount(facts.messages, 'kept message'),
    fleet_changes: `${formatCount(facts.fleet_changes, 'change')} for the worse in the fleet`,
  }
  return facts.probes.map((probe) => words[probe] ?? probe)
}
