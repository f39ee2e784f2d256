import type { KnownBlock } from '@slack/web-api'
import type { ChannelButton } from '../../adapter.ts'

/** Slack shows at most so much on a button, characters. */
const labelMaxChars = 75

/** The text and its buttons as blocks; nothing where there are no buttons, since the text then says it all. Pure. */
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
