import type { ChannelName } from '@flotilla/protocol/people'

/**
 * Slack does not deliver a message that begins with an unregistered slash command, so one command is registered for
 * all.
 */
export const slackCommand = '/flotilla'

/** Platforms on which one registered command takes the mesh's commands as its argument. */
export const commandForAll: Readonly<Partial<Record<ChannelName, string>>> = { slack: slackCommand }
