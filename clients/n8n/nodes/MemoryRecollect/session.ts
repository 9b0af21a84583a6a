import { NO_USER, type SessionNames } from '@recollect/client';
import { NodeOperationError, type ISupplyDataFunctions } from 'n8n-workflow';

/**
 * The conversation of an item. Keys begin with `thread:`, so that a visitor who chooses the
 * session id of a chat cannot name another user, or a conversation that all users share.
 */
export function sessionOf(context: ISupplyDataFunctions, itemIndex: number): SessionNames {
	const app = text(context.getNodeParameter('app', itemIndex, '')) || text(context.getWorkflow().id) || 'n8n';
	const user = text(context.getNodeParameter('user', itemIndex, ''));
	const fromInput = context.getNodeParameter('sessionIdType', itemIndex, 'fromInput') === 'fromInput';
	const id = fromInput ? inputSession(context, itemIndex) : text(context.getNodeParameter('sessionKey', itemIndex, ''));
	if (id === '') {
		const message = fromInput ? 'No session ID found' : 'Key parameter is empty';
		const description = fromInput
			? "Expected the session ID in an input field called 'sessionId', which a Chat Trigger has. To use something else, change the parameter 'Session ID'."
			: "Give the parameter 'Key' a text or an expression that is not empty.";
		throw new NodeOperationError(context.getNode(), message, { description, itemIndex });
	}
	return { app, user: user === '' ? NO_USER : user, session: `thread:${id}` };
}

/** The session id of the item, or else of the workflow's Chat Trigger. */
function inputSession(context: ISupplyDataFunctions, itemIndex: number): string {
	const id = text(context.evaluateExpression('{{ $json.sessionId }}', itemIndex));
	if (id !== '') return id;
	const trigger = context.getChatTrigger();
	if (!trigger) return '';
	try {
		return text(context.evaluateExpression(`{{ $(${JSON.stringify(trigger.name)}).first().json.sessionId }}`, itemIndex));
	} catch {
		// The trigger has not run.
		return '';
	}
}

function text(value: unknown): string {
	return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
