import { aCassette, calls, operatorHandsOff, runs, says } from './cassettes.ts'

export const voyageQuestion = 'What is the checksum of the input file?'
/**
 * The operator hands off to `clerk`: it shall take the checksum of input/parcel.bin, which a real program computes.
 * Asked to let the talker say it, the operator hands off to `talker`, which answers with text and never completes
 * its task.
 */
export const voyageCassette = aCassette(
  ...operatorHandsOff({
    when: 'talker say',
    to: 'talker',
    title: 'Say it',
    capture: { n: 'number is (\\d+)' },
    answer: 'It said {{n}}.',
  }),
  { agents: ['talker'], turns: [says('The number is 7.')] },
  ...operatorHandsOff({
    when: 'checksum of the input',
    to: 'clerk',
    title: 'Take the checksum',
    capture: { sum: 'checksum is ([0-9a-f]{64})', size: 'of (\\d+) bytes' },
    answer: 'The file of {{size}} bytes has the checksum {{sum}}.',
  }),
  {
    agents: ['clerk'],
    when: 'Take the checksum',
    turns: [
      runs('sha256sum input/parcel.bin; wc -c < input/parcel.bin'),
      calls(
        'write_blackboard',
        { key: 'output/checksum', value: { sum: '{{sum}}' } },
        { capture: { sum: '([0-9a-f]{64})', size: 'parcel\\.bin\\s+(\\d+)' } },
      ),
      calls('save_artifact', { name: 'checksum.txt', content: '{{sum}}' }),
      calls('notify_user', { message: 'The checksum is taken.' }),
      calls('complete_task', {
        summary: 'The checksum is {{sum}} of {{size}} bytes.',
        result: { sum: '{{sum}}' },
      }),
    ],
  },
)
