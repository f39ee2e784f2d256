import type { DiscordServer } from './discord-server.ts'
import { eventually } from './eventually.ts'
import type { SlackWorkspace } from './slack-workspace.ts'

/** A known person in a direct conversation with the bot of a platform. */
export interface KnownSomewhere {
  say(text: string): unknown
  /** Gives a command in the platform's own way: typed, or from its menu. */
  command(name: string, argument: string): unknown
  press(value: string): unknown
  shown(): readonly { readonly text: string }[]
}

/** What a platform adds to a text: tags, escape characters, and marks that keep a name from notifying a person. */
const markup = /<[^>]*>|[\\\u200B\u2060]/g

type Step = readonly [how: (person: KnownSomewhere) => unknown, told: RegExp]

const command =
  (name: string, argument = '') =>
  (person: KnownSomewhere) =>
    person.command(name, argument)
const say = (text: string) => (person: KnownSomewhere) => person.say(text)

/** Each command and its expected reply, when `clerk` is idle and answers with `answer`. */
function steps(answer: string): readonly Step[] {
  const answered = new RegExp(`\\[clerk\\][\\s\\S]*${answer}`)
  return [
    [command('help'), /@agent text/],
    [command('agents'), /clerk: /],
    [(person) => person.press('use:clerk'), /You talk to clerk here now/],
    [command('use'), /You talk to clerk here\. Choose with/],
    [command('use', 'clerk'), /You talk to clerk here now/],
    [say('anything new?'), answered],
    [say('@clerk anything new?'), answered],
    [command('status'), /messages waiting/],
    [command('status', 'clerk'), /clerk: [\s\S]*today/],
    [command('costs'), /Today USD/],
    [command('pending'), /There are no open approvals/],
    [command('steer', '@clerk and to the left?'), answered],
    [command('stop'), /You have no unfinished requests here/],
    [command('broadcast', 'who is there?'), answered],
    [command('reset', 'clerk'), /clerk starts a new conversation here/],
    [say(' /approve 1'), /Approvals are not given here/],
  ]
}

/** Gives every command once, each after the reply to the one before has arrived. */
export async function walkCommands(person: KnownSomewhere, answer: string): Promise<void> {
  for (const [index, [how, told]] of steps(answer).entries()) {
    const before = person.shown().length
    await how(person)
    await eventually(`step ${index + 1} is told: ${told}`, () =>
      person
        .shown()
        .slice(before)
        .some(({ text }) => told.test(text.replaceAll(markup, ''))),
    )
  }
}

/** Commands come as Discord interactions from its menu. */
export function personOnDiscord(server: DiscordServer): KnownSomewhere {
  const { ids, places, platform } = server
  const interact = (type: number, data: object) =>
    server.dispatch('INTERACTION_CREATE', {
      id: server.newId(),
      application_id: ids.bot,
      token: 'interaction-token',
      type,
      channel_id: places.alone.conversationId,
      user: { id: ids.person, username: 'ann' },
      data,
    })
  return {
    say: (text) => platform.say({ place: places.alone, text, by: 'person', addressed: true }),
    command: (name, argument) =>
      interact(2, {
        name,
        options: argument === '' ? [] : [{ name: 'text', type: 3, value: argument }],
      }),
    press: (value) => interact(3, { custom_id: `0:${value}` }),
    shown: platform.shown,
  }
}

/** Commands follow the single slash command that Flotilla registers with Slack. */
export function personOnSlack(workspace: SlackWorkspace): KnownSomewhere {
  const { places, platform, teamId, personId } = workspace
  let count = 0
  return {
    say: (text) => platform.say({ place: places.alone, text, by: 'person', addressed: true }),
    command: (name, argument) =>
      workspace.deliver({
        type: 'slash_commands',
        payload: {
          command: '/flotilla',
          text: `${name} ${argument}`,
          team_id: teamId,
          user_id: personId,
          user_name: 'ann',
          channel_id: places.alone.conversationId,
          trigger_id: `1.2.${++count}`,
        },
      }),
    press: (value) =>
      workspace.deliver({
        type: 'interactive',
        payload: {
          type: 'block_actions',
          user: { id: personId, team_id: teamId, username: 'ann' },
          team: { id: teamId },
          channel: { id: places.alone.conversationId },
          message: { ts: '1700000001.000100' },
          actions: [
            { action_id: 'press-0', value, action_ts: `1700000005.${String(++count).padStart(6, '0')}` },
          ],
        },
      }),
    shown: platform.shown,
  }
}
