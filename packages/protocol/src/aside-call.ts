/**
 * The maximum length of the answer to a question beside a conversation, such as its summary, in tokens. The agent
 * asks for no more, and the mesh treats a call that asks for more as part of the conversation.
 */
export const asideAnswerTokensMax = 1500
