import type { CallName, CallRequest, CallResponse } from '../contract/index.ts';

/** What answers the contract's calls. */
export type Handlers = { [N in CallName]: (request: CallRequest<N>) => Promise<CallResponse<N>> };
