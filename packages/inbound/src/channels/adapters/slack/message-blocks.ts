import type { KnownBlock } from '@slack/web-api'
import type { ChannelButton } from '../../adapter.ts'

/** The maximum length of a button label at Slack, in characters. */
const labelMaxChars = 75

/** Returns text and buttons as Slack blocks; empty without buttons, because then the text field is enough. Pure. */
export function messageBlocks(
  text: string,
  buttons: readonly ChannelButton[],
): { readonly blocks?: KnownBlock[] } {
  if (buttons.length === 0) return {}
  return {
    blocks: [
      { type: 'section', text: { type: 'mrkdwn', text, verbatim: true } },
      {
        type: 'actions',
        elements: buttons.map(({ label, value }, index) => ({
          type: 'button',
          action_id: `press-${index}`,
          text: { type: 'plain_text', text: label.slice(0, labelMaxChars), emoji: false },
          value,
        })),
      },
    ],
  }
}
