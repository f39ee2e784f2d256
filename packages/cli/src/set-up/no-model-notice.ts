/** Says that agents have no model, and how to set one. */
export const noModelNotice = 'No model is set up yet: choose one with flotilla init'
