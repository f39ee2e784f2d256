import { call, chunk, data, done, end, endOfCalls, hello, one, plain, whole } from '../oddity.ts'
import type { Oddity } from '../oddity.ts'

const source = 'tried: gateways and servers of one maker’s own'
const row = (what: string, wire: string, normal: Oddity['normal']): Oddity => ({ what, source, wire, normal })
const calls = (value: unknown): string => chunk({ role: 'assistant', tool_calls: value }) + endOfCalls + done
const made = { name: 'look', arguments: '{"at":"a"}' }
const strange = { problem: 'provider-unreadable' } as const
const piece = (more: object): string => call({ index: 0, id: 'a', type: 'function', ...more })

const noCredit = {
  problem: 'upstream-failed',
  says: 'insufficient_quota',
  agentCode: 'provider-quota-exhausted',
} as const

/** Shapes of calls and ends that no documented API has. */
export const shapeOddities: readonly Oddity[] = [
  row('the calls are in a member calls', calls({ calls: [{ id: 'a', function: made }] }), one),
  row(
    'the calls are in a member tool_calls of their own',
    calls({ tool_calls: [{ id: 'a', function: made }] }),
    one,
  ),
  row('the calls are in a member items', calls({ items: [{ id: 'a', function: made }] }), one),
  row('the calls are by their ids', calls({ call_a: { function: made } }), one),
  row('a call has tool and payload', calls([{ tool: 'look', payload: { at: 'a' } }]), one),
  row('a call has action and action_input', calls([{ action: 'look', action_input: { at: 'a' } }]), one),
  row('a call has tool_name and tool_args', calls([{ tool_name: 'look', tool_args: { at: 'a' } }]), one),
  row('a call has a tool object', calls([{ id: 'a', tool: made }]), one),
  row('a call is a name and its arguments', calls([{ look: { at: 'a' } }]), strange),
  row('a call has unknown members', calls([{ widget: 'look', stuff: { at: 'a' } }]), strange),
  row(
    'a message has its calls in calls',
    whole({ role: 'assistant', content: null, calls: [{ id: 'a', function: made }] }, 'tool_calls'),
    one,
  ),
  row(
    'the arguments grow as objects under one id',
    piece({ function: { name: 'look', arguments: { at: 'a' } } }) +
      piece({ function: { name: 'look', arguments: { at: 'ab' } } }) +
      piece({ function: { name: 'look', arguments: { at: 'abc' } } }) +
      endOfCalls +
      done,
    { calls: [['look', '{"at":"abc"}']], end: 'tool_calls' },
  ),
  row(
    'the arguments grow as texts of objects under one id',
    piece({ function: { name: 'look', arguments: '{}' } }) +
      piece({ function: { arguments: '{"at":""}' } }) +
      piece({ function: { arguments: '{"at":"a"}' } }) +
      endOfCalls +
      done,
    one,
  ),
  row(
    'the text null comes before the arguments',
    piece({ function: { name: 'look', arguments: 'null' } }) +
      piece({ function: { arguments: '{"at":' } }) +
      piece({ function: { arguments: '"a"}' } }) +
      endOfCalls +
      done,
    one,
  ),
  row(
    'the text None comes before the arguments',
    piece({ function: { name: 'look', arguments: 'None' } }) +
      piece({ function: { arguments: '{"at":"a"}' } }) +
      endOfCalls +
      done,
    one,
  ),
  row(
    'the text null comes behind the arguments',
    piece({ function: { name: 'look', arguments: '{"at":"a"}' } }) +
      piece({ function: { arguments: 'null' } }) +
      endOfCalls +
      done,
    one,
  ),
  row('the mark of the end is in quotes', `${hello}data: "[DONE]"\n\n`, plain),
  row('the mark of the end is an object', hello + data({ done: true }), plain),
  row('the mark of the end is an object with a type', hello + data({ type: 'done' }), plain),
  row('the mark of the end is an event', `${hello}event: done\ndata: {}\n\n`, plain),
  row('the mark of the end is an event with a text', `${hello}event: end\ndata: bye\n\n`, plain),
  row('the mark of the end is [END]', `${hello}data: [END]\n\n`, plain),
  row('the reason is in an object without choices', hello + data({ finish_reason: 'length' }), {
    text: 'Hello',
    end: 'length',
  }),
  row('the mark of the end is an object behind a reason', hello + end + data({ done: true }), plain),
  row(
    'an object says before the answer that a step has ended',
    data({ type: 'queue', status: 'completed' }) + hello + end,
    plain,
  ),
  row(
    'an object says between the words that a step has ended',
    data({ choices: [{ index: 0, delta: { content: 'Hel' } }] }) +
      data({ type: 'step', status: 'completed', id: 's1' }) +
      data({ choices: [{ index: 0, delta: { content: 'lo' } }] }) +
      end,
    plain,
  ),
  row('an object that is not done yet comes', hello + data({ done: false }) + end + done, plain),
  row(
    'a sound comes without its words',
    whole({ role: 'assistant', content: null, audio: { id: 'a', data: 'UklGRg==' } }),
    strange,
  ),
  row('an error is a code alone', data({ error: 'insufficient_quota' }), noCredit),
  row('an error is in detail', data({ detail: { code: 'insufficient_quota' } }), noCredit),
  row('an error is in an error', data({ error: { error: { code: 'insufficient_quota' } } }), noCredit),
  row(
    'a whole answer is an error in detail',
    JSON.stringify({ detail: { code: 'insufficient_quota' } }),
    noCredit,
  ),
]
